#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <leat/tensor.hpp>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace leat::command {

/// How tokens are to be stored.
struct token_format {
  /// With an index of the documents, as Megatron-LM has it; otherwise tokens alone.
  bool is_megatron = true;
  /// u16, i32 or u32 (raw only).
  dtype type = dtype::u16;
  /// Comes after each document.
  std::optional<std::uint32_t> end_token = {};

  friend bool operator==(const token_format&, const token_format&) = default;
};

/// Refuses (`errc::invalid_argument`) a type without room for every token up to `last_token`, or
/// for the end token.
void check_room(const token_format& x, std::uint32_t last_token);

/// How much has been stored.
struct token_sums {
  std::uint64_t documents = 0;
  std::uint64_t tokens = 0;
};

/// The files tokens.bin and, for Megatron-LM, tokens.idx of a directory, which appear when all is
/// done. Until then, parts of them are there under other names, with a state from which another
/// process resumes after whatever death. One writer per directory at a time. Throws `errc::io`, and
/// `errc::invalid_argument` as said.
class token_files : not_copied {
public:
  /// Begins, or with `resumes` continues what an earlier process has stored. Refuses a directory
  /// that has tokens, or without `resumes` parts of them, and parts in another format.
  token_files(std::filesystem::path directory, token_format format, bool resumes);

  /// What had been stored, and the text that `store` was given with it; empty at the beginning.
  const std::string& resumed_from() const noexcept { return resumed_from_; }
  const token_sums& sums() const noexcept { return sums_; }

  /// Adds a document, whose tokens have to fit: see `check_room`. Throws `errc::invalid_argument`
  /// for one of 2^31 tokens or more.
  void append(std::span<const std::int32_t> tokens);
  /// Bytes that no state covers yet.
  std::uint64_t bytes_at_risk() const noexcept { return bytes_ - stored_bytes_; }
  /// Makes everything so far durable, with a text that says where to resume.
  void store(const std::string& from);
  /// Names the files as they are to be called.
  void finish();

private:
  void resume();
  void begin();
  void flush();
  void add(std::uint32_t token);
  std::string index() const;

  std::filesystem::path directory_;
  token_format format_;
  token_sums sums_;
  std::string resumed_from_;
  std::uint64_t bytes_ = 0;
  std::uint64_t stored_bytes_ = 0;
  std::string held_;
  std::string held_lengths_;
  file_descriptor data_;
  file_descriptor lengths_;
};

} // namespace leat::command
