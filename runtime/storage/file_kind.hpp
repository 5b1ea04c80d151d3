#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace leat {

/// What lies at a path, and which source takes it: for errors that help.
struct file_kind {
  enum class form : std::uint8_t { unknown, text, tar, other };

  form is = form::unknown;
  /// "a Parquet file"; empty where it is not known.
  std::string what = {};
  /// What to write or to do; not empty where `what` is not.
  std::string instead = {};

  explicit operator bool() const noexcept { return is != form::unknown; }
};

/// Bytes of a file's beginning that tell its kind.
inline constexpr std::size_t kind_bytes = 512;

/// The kind of a file, by its first bytes (`kind_bytes`, or all of a shorter one) and by its name.
file_kind kind_of_file(const std::string& path, std::span<const std::byte> first);

/// The kind of a path as the user wrote it: addresses of remote stores, directories, pipes, and
/// files by their first bytes. Nothing for a path that does not exist.
file_kind kind_of_path(const std::string& path);

/// How a file is read, as its name says.
enum class reading : std::uint8_t {
  /// The name says nothing.
  unknown,
  tar_shards,
  /// A packed tar archive.
  tar_stream,
  /// *.txt, *.text, also packed
  lines,
  /// *.jsonl, *.ndjson, also packed
  json_lines,
  /// *.npy
  npy,
  /// *.idx
  megatron,
};

/// The kind of a path or pattern, by its ending.
reading reading_of(std::string_view name);

} // namespace leat
