#include "runtime/storage/mapped_files.hpp"

#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/file_mapping.hpp"
#include "runtime/storage/guarded_copy.hpp"
#include "runtime/storage/open_files.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace leat {

namespace {

/// Most mappings of one source: the system bounds how many a process may have.
constexpr std::size_t most_mapped = 128;
/// With fewer reads than these, mapping a file costs more than it saves.
constexpr std::uint32_t fewest_reads = 16;
constexpr std::size_t large_part = std::size_t{32} << 10;
constexpr std::uint64_t most_touched = std::uint64_t{256} << 20;

/// What this thread will read after its next read: a hint. May be gone by then.
thread_local constinit std::span<const std::byte> expected_bytes;

struct mapped_file {
  mapped_file(open_files& files, std::size_t object) noexcept : map(files, object) {}

  /// Has no bytes if the file is empty or cannot be mapped.
  const file_mapping map;
  std::atomic<std::uint32_t> reads{0};
  /// See may_copy.
  std::atomic<bool> copies{false};
  /// Whether there were small reads since the last large one: see sequential_files.
  std::atomic<bool> has_small_reads{false};
};

/// Whether the bytes are in the page cache. Those that are not are better read with pread(2), which
/// asks the disk once for exactly these, and reads ahead. It checks only now and then, less often
/// after the first reads, and assumes that the reads up to the next check are alike. If the program
/// replaces the handler of SIGBUS while a job runs, its handler also gets the signals of the copies
/// up to the next check.
bool may_copy(mapped_file& file, const read_part& part) noexcept {
  constexpr std::uint32_t often = 32;
  constexpr std::uint32_t seldom = 256;
  constexpr std::uint32_t first_reads = 1024;
  if (file.map.bytes().empty())
    return false;
  const auto n = file.reads.fetch_add(1, std::memory_order_relaxed);
  if (n % (n < first_reads ? often : seldom) == 0)
    file.copies.store(file.map.is_cached(part.offset, part.into.size()) && copies_are_guarded(),
                      std::memory_order_relaxed);
  return file.copies.load(std::memory_order_relaxed);
}

bool copy_from(const mapped_file& file, const read_part& part) noexcept {
  return guarded_copy(file.map.bytes(), part.offset, part.into, std::exchange(expected_bytes, {}));
}

void expect_from(const mapped_file& file, std::uint64_t offset, std::uint64_t size) noexcept {
  const auto bytes = file.map.bytes();
  if (file.copies.load(std::memory_order_relaxed) && offset < bytes.size())
    expected_bytes = bytes.subspan(offset, std::min<std::uint64_t>(size, bytes.size() - offset));
}

class mapped_files : public near_objects {
public:
  explicit mapped_files(std::vector<std::string> names) : files_(std::move(names)) {}

  std::string name(std::size_t object) const override { return files_.name(object); }
  object_version stat(std::size_t object) override { return files_.stat(object); }
  std::uint64_t read_parts(std::span<const read_part> parts) override {
    std::uint64_t copied = 0;
    for (const auto& part : parts) {
      if (part.into.empty() || !copy(part))
        break;
      copied += part.into.size();
    }
    // The mapping lacks the bytes of the first part, so they are read from the file.
    return copied > 0 ? copied : files_.read_parts(parts);
  }

protected:
  open_files& files() noexcept { return files_; }

private:
  /// Copies a part, which is not empty, out of a mapping. False if it has to be read.
  virtual bool copy(const read_part& part) = 0;

  open_files files_;
};

/// Files that stay mapped, and so are found without a lock.
class random_files final : public mapped_files {
public:
  explicit random_files(const std::vector<std::string>& names)
      : mapped_files(names), known_(names.size()) {}

  void expect(std::size_t object, std::uint64_t offset, std::uint64_t size) noexcept override {
    expected_bytes = {};
    if (const auto* file = known_[object].load(std::memory_order_acquire))
      expect_from(*file, offset, size);
  }

private:
  bool copy(const read_part& part) override {
    auto* file = known_[part.object].load(std::memory_order_acquire);
    if (!file)
      file = &map(part.object);
    return may_copy(*file, part) && copy_from(*file, part);
  }

  mapped_file& map(std::size_t object) {
    auto file = std::make_unique<mapped_file>(files(), object);
    const mutex_lock lock{mutex_};
    auto& known = known_[object];
    if (!known) { // no other thread was faster
      known.store(file.get(), std::memory_order_release);
      mapped_.push_back(std::move(file));
    }
    return *known;
  }

  std::vector<std::atomic<mapped_file*>> known_;
  mutex mutex_;
  std::vector<std::unique_ptr<mapped_file>> mapped_ LEAT_GUARDED_BY(mutex_);
};

/// Files of which only the last ones stay mapped, and not all of their pages.
class sequential_files final : public mapped_files {
public:
  explicit sequential_files(const std::vector<std::string>& names)
      : mapped_files(names), slots_(names.size()) {}

  void expect(std::size_t object, std::uint64_t offset, std::uint64_t size) noexcept override {
    expected_bytes = {};
    if (!maps_.load(std::memory_order_relaxed))
      return;
    const mutex_lock lock{mutex_of(object)};
    if (const auto& file = slots_[object])
      expect_from(*file, offset, size);
  }

private:
  using mapped_ptr = std::shared_ptr<mapped_file>;

  bool copy(const read_part& part) override {
    if (!maps_.load(std::memory_order_relaxed))
      return false;
    const auto file = mapped(part.object);
    const bool done = may_copy(*file, part) && is_worth_it(*file, part) && copy_from(*file, part);
    if (done)
      count_touched(part.into.size());
    return done;
  }

  /// The first touch of a page costs more than copying it with pread(2), so large parts are read
  /// with pread(2), unless small ones are read as well, which need the pages anyway.
  static bool is_worth_it(mapped_file& file, const read_part& part) noexcept {
    if (part.into.size() >= large_part)
      return file.has_small_reads.exchange(false, std::memory_order_relaxed);
    if (!file.has_small_reads.load(std::memory_order_relaxed))
      file.has_small_reads.store(true, std::memory_order_relaxed);
    return true;
  }

  mutex& mutex_of(std::size_t object) noexcept {
    return slot_mutexes_[object % slot_mutexes_.size()];
  }

  mapped_ptr mapped(std::size_t object) {
    auto& slot_mutex = mutex_of(object);
    {
      const mutex_lock lock{slot_mutex};
      if (slots_[object])
        return slots_[object];
    }
    auto file = std::make_shared<mapped_file>(files(), object);
    {
      const mutex_lock lock{slot_mutex};
      if (slots_[object]) // another thread was faster
        return slots_[object];
      slots_[object] = file;
    }
    add_open(object, file);
    return file;
  }

  /// Drops the oldest mapping if there are too many; threads that still read it share it. If it was
  /// hardly used, no more files are mapped.
  void add_open(std::size_t object, const mapped_ptr& file) {
    std::pair<std::size_t, mapped_ptr> oldest;
    {
      const mutex_lock lock{open_mutex_};
      open_.emplace_back(object, file);
      if (open_.size() <= most_mapped)
        return;
      oldest = std::move(open_.front());
      open_.pop_front();
    }
    if (oldest.second->reads.load(std::memory_order_relaxed) < fewest_reads)
      maps_.store(false, std::memory_order_relaxed);
    const mutex_lock lock{mutex_of(oldest.first)};
    slots_[oldest.first] = nullptr;
  }

  /// Gives up all pages after every `most_touched` bytes: see map_files.
  void count_touched(std::uint64_t bytes) {
    if (touched_.fetch_add(bytes, std::memory_order_relaxed) + bytes < most_touched)
      return;
    touched_.store(0, std::memory_order_relaxed);
    std::vector<mapped_ptr> files;
    {
      const mutex_lock lock{open_mutex_};
      for (const auto& [object, file] : open_)
        files.push_back(file);
    }
    for (const auto& x : files)
      x->map.forget_pages();
  }

  std::atomic<bool> maps_{true};
  /// Slot i is guarded by mutex i modulo their number.
  std::array<mutex, 16> slot_mutexes_;
  std::vector<mapped_ptr> slots_;
  std::atomic<std::uint64_t> touched_{0};
  mutex open_mutex_;
  /// In the order in which they were mapped.
  std::deque<std::pair<std::size_t, mapped_ptr>> open_ LEAT_GUARDED_BY(open_mutex_);
};

} // namespace

std::shared_ptr<stored_objects> map_files(const std::vector<std::string>& names,
                                          read_pattern pattern) {
  if (pattern == read_pattern::sequential)
    return std::make_shared<sequential_files>(names);
  if (names.size() <= most_mapped)
    return std::make_shared<random_files>(names);
  return std::make_shared<open_files>(names);
}

} // namespace leat
