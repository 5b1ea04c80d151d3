#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/sources/live/record_store.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace leat {

/// One file of a journal: whole records, numbered from `first` on, perhaps followed by a part of
/// one more. One thread writes, any number read.
class segment {
public:
  /// Opens a file and finds its records. Throws `errc::io`, `errc::torn_file`.
  segment(std::string path, record_format format, std::uint64_t first);

  const std::string& path() const noexcept { return path_; }
  std::uint64_t first() const noexcept { return first_; }
  /// Number of the record after the last whole one.
  std::uint64_t next() const;

  // For the writer:

  /// Bytes of the file.
  std::uint64_t size() const noexcept { return size_; }
  /// The bytes after the last whole record.
  std::string tail() const;
  /// Removes the tail: part of a frame whose write was cut short.
  void cut_tail();
  /// Writes all or nothing, and finds the records in it. `sync`: fdatasync before they are found.
  /// Throws `errc::io`; what was there before stays good.
  void append(std::span<const std::byte> bytes, bool sync);
  /// Appends what a descriptor has: see `move_ready`.
  std::optional<std::size_t> take(int from, bool sync);

  /// Reads the content of one of its records. Throws `errc::io`, `errc::torn_file`.
  std::span<const std::byte> read(std::uint64_t number, sample& into) const;

private:
  /// A run of short records, or one long record: what is read to find a record.
  struct window {
    std::uint64_t number;
    std::uint64_t offset;
  };
  struct extent {
    /// Number of its first record.
    std::uint64_t first;
    std::uint64_t offset;
    std::uint64_t size;
  };

  void write(std::span<const std::byte> bytes);
  /// `sync`: fdatasync before they are found.
  void find_records(bool sync);
  void find_lines();
  void find_frames();
  void add_record(std::uint64_t end);
  std::uint64_t end_of_records() const;

  /// The window that holds a record.
  extent window_of(std::uint64_t number) const;
  std::optional<std::size_t> size_of_first(std::span<const std::byte> bytes,
                                           std::uint64_t number) const;
  std::span<const std::byte> content_of(std::span<const std::byte> record, std::uint64_t number,
                                        std::uint64_t offset) const;
  [[noreturn]] void throw_torn(std::uint64_t offset, std::string got, std::string needed) const;

  const std::string path_;
  const record_format format_;
  const std::uint64_t first_;
  file_descriptor file_;

  // Used by the writer only:
  std::uint64_t size_ = 0;
  /// There are no further ends of lines up to here.
  std::uint64_t searched_ = 0;

  mutable mutex mutex_;
  // Changed by the writer only:
  std::uint64_t next_ LEAT_GUARDED_BY(mutex_);
  /// Where the last whole record ends.
  std::uint64_t end_ LEAT_GUARDED_BY(mutex_) = 0;
  std::vector<window> windows_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
