#pragma once

#include "runtime/storage/open_files.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace leat {

/// A file in memory, as long as it was when it was mapped. Its bytes are read with `guarded_copy`.
/// Any thread.
class file_mapping {
public:
  /// One of `files`, which outlive it; no descriptor stays with the mapping. Without bytes if the
  /// file has none, or cannot be mapped: reading it in another way says why.
  file_mapping(open_files& files, std::size_t file) noexcept;
  ~file_mapping();
  file_mapping(const file_mapping&) = delete;
  file_mapping& operator=(const file_mapping&) = delete;

  std::span<const std::byte> bytes() const noexcept { return bytes_; }

  /// Whether these bytes of the file are in the page cache with the page after them, as far as the
  /// system tells: mincore says so to a file's owner, and that everything is to others; a read that
  /// must not wait makes the pages of a file's holes. Of many pages, looks at the first ones.
  bool is_cached(std::uint64_t offset, std::uint64_t size) const noexcept;

  /// Gives up the pages that were touched, which count as the process's memory: the next touch
  /// finds them in the page cache again.
  void forget_pages() const noexcept;

private:
  void map();
  bool is_read_at_once(std::uint64_t offset) const noexcept;

  open_files& files_;
  std::size_t file_;
  std::span<const std::byte> bytes_;
};

} // namespace leat
