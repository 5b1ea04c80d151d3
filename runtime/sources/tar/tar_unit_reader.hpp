#pragma once

#include "runtime/sample/stream_source.hpp"
#include "runtime/sources/stream_codes.hpp"
#include "runtime/sources/stream_opener.hpp"
#include "runtime/sources/tar/tar_reader.hpp"
#include "runtime/storage/byte_window.hpp"
#include "runtime/storage/passed_over.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace leat {

/// A field of a record of a tar file.
struct tar_record_field {
  std::string name;
  /// Null if its bytes are not read with its header.
  std::shared_ptr<std::byte[]> bytes = {};
  std::size_t size = 0;
};

/// A record whose bytes were read with its headers.
class tar_record_content final : public payload {
public:
  bool has(const std::string& field) const;

  /// Bytes of all fields.
  std::uint64_t bytes = 0;
  std::vector<tar_record_field> fields;
};

/// Finds the records of a tar file, from one of them on. It reads one member ahead: the end of a
/// record is known only when the next one begins.
class tar_unit_reader final : public unit_reader {
public:
  /// Largest record of a file whose records carry their content.
  static constexpr std::uint64_t max_content = std::uint64_t{1} << 30;
  /// Most bytes from a record's first header to its end, with members in between that are not among
  /// its fields.
  static constexpr std::uint64_t max_span = 2 * max_content;

  /// `opener` must outlive it, and so must `ahead`, which may be null, and `others_told`: the first
  /// reader of a source that comes to the end of a file in which it has passed over members says so
  /// in a notice, and sets it.
  tar_unit_reader(const stream_opener& opener, std::size_t file, const stream_place& from,
                  ahead_threads* ahead, std::atomic<bool>& others_told);

  bool next(stream_record& into) override;
  stream_place place() const override { return place_; }

private:
  /// A member that is a field of a record.
  struct member {
    std::uint64_t begin;
    std::uint64_t end;
    std::uint64_t offset;
    std::string key;
    std::string field;
    /// The context at `begin`.
    tar_context context;
  };

  byte_reader reader_of(const stream_opener& opener);
  /// Finds the next member; nothing after the last one.
  void advance();
  /// Says what was passed over, and what follows the end mark.
  void tell_others();
  /// Adds this field to the record that begins at `begin`, with its bytes if content is read here.
  void take(const member& x, std::uint64_t begin, tar_record_content& to);
  void move_place(std::uint64_t end, const tar_context& context);

  std::size_t file_;
  std::string path_;
  std::shared_ptr<read_buffers> buffers_;
  /// Null for files whose content is not read here.
  std::unique_ptr<byte_window> window_;
  tar_reader headers_;
  bool begun_ = false;
  std::optional<member> ahead_;
  stream_place place_;
  passed_over others_;
  std::atomic<bool>& others_told_;
};

} // namespace leat
