#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/sources/journal/segment.hpp"
#include "runtime/sources/live/record_store.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <leat/error.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace leat {

struct journal_format {
  record_format format = record_format::lines;
  /// A file that has this many bytes, and a whole record, is followed by another one.
  std::uint64_t file_bytes = 64 << 20;
  /// fdatasync before a record is seen.
  bool sync = false;
};

/// The `errc::io` of a journal that somebody else uses now.
class journal_in_use : public error {
public:
  explicit journal_in_use(const std::string& directory);
};

/// Records in files, so that they outlive the process: a directory with one file for each run of
/// records, named by the number of its first record, and a lock.
///
/// What a killed process leaves, and what happens to it (written data is in the kernel's hands, so
/// that it survives a SIGKILL; to survive a power cut it needs `sync`):
/// - bytes of a line without its end: they stay, and what comes next completes them, from whatever
///   process. So a line is one record, once, wherever its reader was killed;
/// - part of a frame: it is cut off at the next opening. It was never seen;
/// - a file begun for further records: half a line is copied from the end of a file to the
///   beginning of the next one, which gets its name only once it has that half line. Bytes after
///   the last newline of any file but the last are the original of that copy, and do not count;
/// - a release in progress: files are removed from the first one on.
class journal : public record_store {
public:
  /// Opens or makes it, and continues where it ends. Throws `errc::io` (`journal_in_use` if another
  /// process, or another source of this one, uses it), `errc::mismatch` (its records have the other
  /// format), `errc::torn_file`.
  journal(std::filesystem::path directory, const journal_format& options);

  std::uint64_t first() const override;
  std::uint64_t next() const override;
  /// Throws `errc::io`: then nothing was added, all that came before stays good, and the bytes are
  /// still in the pipe.
  std::optional<std::size_t> take(int from) override;
  void end_line() override;
  /// Throws `errc::io`, as `take`.
  void append(std::string_view content) override;
  std::span<const std::byte> read(std::uint64_t number, sample& into) const override;
  /// Removes files that hold only such records. The last file stays: it knows the next number.
  void release_below(std::uint64_t number) override;
  bool is_journal() const noexcept override { return true; }

  /// Number of files that are open now, without the lock.
  std::size_t open_count() const;

private:
  using segment_ptr = std::shared_ptr<segment>;

  void find_files() LEAT_REQUIRES(mutex_);
  std::filesystem::path path_of(std::uint64_t first) const;
  void begin_file_if_full();
  void begin_file(std::uint64_t first, const std::string& half_line);
  segment_ptr find(std::uint64_t number) const;
  segment_ptr open(std::uint64_t first) const;
  void keep_open(std::uint64_t first) const LEAT_REQUIRES(mutex_);
  void check_end(const segment& x) const LEAT_REQUIRES(mutex_);

  const std::filesystem::path directory_;
  const journal_format options_;
  file_descriptor lock_;

  /// The file that is written to. Only the thread that adds uses it.
  segment_ptr writing_;

  mutable mutex mutex_;
  /// Each file by the number of its first record; null while it is not open.
  mutable std::map<std::uint64_t, segment_ptr> files_ LEAT_GUARDED_BY(mutex_);
  /// Earlier files that are open, the least recently used first.
  mutable std::list<std::uint64_t> recent_ LEAT_GUARDED_BY(mutex_);
  /// The file that is written to, for readers.
  segment_ptr last_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
