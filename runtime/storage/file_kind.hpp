#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace leat {

/// What is at a path, and which source reads it, for errors that say what to do.
struct file_kind {
  enum class form : std::uint8_t { unknown, text, tar, other };

  form is = form::unknown;
  /// "a Parquet file"; empty if not known.
  std::string what = {};
  /// What to write or to do; not empty unless `what` is.
  std::string instead = {};

  explicit operator bool() const noexcept { return is != form::unknown; }
};

/// How many bytes at the beginning of a file suffice to tell its kind.
inline constexpr std::size_t kind_bytes = 512;

/// The kind of a file, by its first bytes (`kind_bytes`, or all of a shorter one) and by its name.
file_kind kind_of_file(const std::string& path, std::span<const std::byte> first);

/// The kind of a path as the user wrote it: addresses of remote stores, directories, pipes, and
/// files by their first bytes. Nothing for a path that does not exist.
file_kind kind_of_path(const std::string& path);

/// How a file is read, according to its name.
enum class reading : std::uint8_t {
  /// The name says nothing.
  unknown,
  tar_shards,
  /// A compressed tar archive.
  tar_stream,
  /// *.txt, *.text, also compressed
  lines,
  /// *.jsonl, *.ndjson, also compressed
  json_lines,
  /// *.npy
  npy,
  /// *.idx
  megatron,
};

/// How a path or pattern is read, by its ending.
reading reading_of(std::string_view name);

} // namespace leat
