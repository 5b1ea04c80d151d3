#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/storage/open_files.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace leat {

/// A file mapped into memory, with the length it had when it was mapped. Its bytes are read with
/// `guarded_copy`. Any thread.
class file_mapping : not_copied {
public:
  /// Maps one of `files`, which outlive it; the mapping holds no descriptor. It has no bytes if the
  /// file is empty or cannot be mapped: reading the file in another way reports the reason.
  file_mapping(open_files& files, std::size_t file) noexcept;
  ~file_mapping();

  std::span<const std::byte> bytes() const noexcept { return bytes_; }

  /// Whether these bytes of the file, and the page after them, are in the page cache, as far as the
  /// system tells: mincore(2) tells a file's owner, but reports everything as cached to others, so
  /// a read that must not wait is tried as well, which also creates the pages of a file's holes.
  /// Only the first pages of a long range are checked.
  bool is_cached(std::uint64_t offset, std::uint64_t size) const noexcept;

  /// Gives up the pages that were touched, which count as memory of the process; the next touch
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
