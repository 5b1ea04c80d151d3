#include "runtime/storage/mapped_store.hpp"

#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/file_mapping.hpp"
#include "runtime/storage/guarded_copy.hpp"
#include "runtime/storage/local_store.hpp"
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
/// With fewer reads and fewer searches than these, mapping a file costs more than it saves.
constexpr std::uint32_t fewest_reads = 16;
constexpr std::uint32_t fewest_searches = 4;
constexpr std::size_t large_part = std::size_t{32} << 10;
/// Bytes that one search covers; whether their pages are cached is checked first.
constexpr std::size_t searched_part = std::size_t{128} << 10;
constexpr std::uint64_t most_touched = std::uint64_t{256} << 20;

/// What this thread will read after its next read: a hint. May be gone by then.
thread_local constinit std::span<const std::byte> expected_bytes;

class mapped_files final : public stored_objects {
public:
  mapped_files(std::vector<std::string> names, mapped_use use)
      : use_(use), maps_(use == mapped_use::passing || names.size() <= most_mapped),
        slots_(names.size()), staying_(use == mapped_use::staying ? names.size() : 0),
        files_(std::move(names)) {}

  std::string name(std::size_t object) const override { return files_.name(object); }
  object_version stat(std::size_t object) override { return files_.stat(object); }
  void read(std::span<const read_part> parts, read_done done,
            const std::stop_token& stop) override {
    done(read_here(parts, stop));
  }
  read_result read_here(std::span<const read_part> parts, const std::stop_token& stop) override {
    read_result x;
    for (const auto& part : parts) {
      if (!copy(part))
        break;
      x.bytes += part.into.size();
    }
    // The mapping lacks the bytes of the first part, so they are read from the file.
    return x.bytes > 0 || parts.empty() ? x : files_.read_here(parts, stop);
  }
  std::optional<std::uint64_t> find(std::size_t object, std::uint64_t offset, std::byte what,
                                    std::span<std::uint64_t> places, std::span<std::byte> following,
                                    std::size_t& found) override {
    found = 0;
    if (!maps_.load(std::memory_order_relaxed))
      return std::nullopt;
    const auto file = mapped(object);
    if (!file->map.is_cached(offset, searched_part) || !copies_are_guarded())
      return std::nullopt;
    const auto end = guarded_find(file->map.bytes(), offset, offset + searched_part, what, places,
                                  following, found);
    if (end) {
      file->searches.fetch_add(1, std::memory_order_relaxed);
      count_touched(*end - offset);
    }
    return end;
  }
  void expect(std::size_t object, std::uint64_t offset, std::uint64_t size) noexcept override {
    expected_bytes = {};
    if (use_ == mapped_use::staying) {
      if (const auto* file = staying_[object].load(std::memory_order_acquire))
        expect_from(*file, offset, size);
    } else if (maps_.load(std::memory_order_relaxed)) {
      const mutex_lock lock{slot_mutexes_[object % slot_mutexes_.size()]};
      if (const auto* file = slots_[object].get())
        expect_from(*file, offset, size);
    }
  }

private:
  struct mapped_file {
    mapped_file(open_files& files, std::size_t object) noexcept : map(files, object) {}

    const file_mapping map;
    std::atomic<std::uint32_t> reads{0};
    std::atomic<std::uint32_t> searches{0};
    /// See may_copy.
    std::atomic<bool> copies{false};
    /// Whether there were small reads since the last large one. See is_worth_it.
    std::atomic<bool> has_small_reads{false};
  };
  using mapped_ptr = std::shared_ptr<mapped_file>;

  static void expect_from(const mapped_file& file, std::uint64_t offset,
                          std::uint64_t size) noexcept {
    const auto bytes = file.map.bytes();
    if (file.copies.load(std::memory_order_relaxed) && offset < bytes.size())
      expected_bytes = bytes.subspan(offset, std::min<std::uint64_t>(size, bytes.size() - offset));
  }

  bool copy(const read_part& part) {
    if (part.into.empty() || !maps_.load(std::memory_order_relaxed))
      return false;
    if (use_ == mapped_use::passing) {
      const bool done = copy_from(*mapped(part.object), part);
      if (done)
        count_touched(part.into.size());
      return done;
    }
    auto& known = staying_[part.object];
    auto* file = known.load(std::memory_order_acquire);
    if (!file)
      known.store(file = mapped(part.object).get(), std::memory_order_release);
    return copy_from(*file, part);
  }

  bool copy_from(mapped_file& file, const read_part& part) {
    return !file.map.bytes().empty() && may_copy(file, part) && is_worth_it(file, part)
           && guarded_copy(file.map.bytes(), part.offset, part.into,
                           std::exchange(expected_bytes, {}));
  }

  /// The first touch of a page costs more than copying it with pread(2), so large parts are read
  /// with pread(2), unless small ones are read as well, which need the pages anyway.
  bool is_worth_it(mapped_file& file, const read_part& part) const noexcept {
    if (use_ == mapped_use::staying)
      return true;
    if (part.into.size() >= large_part)
      return file.has_small_reads.exchange(false, std::memory_order_relaxed);
    if (!file.has_small_reads.load(std::memory_order_relaxed))
      file.has_small_reads.store(true, std::memory_order_relaxed);
    return true;
  }

  /// Whether the bytes are in the page cache. Those that are not are better read with pread(2),
  /// which asks the disk once for exactly these, and reads ahead. It checks only now and then, less
  /// often after the first reads, and assumes that the reads up to the next check are alike. If the
  /// program replaces the handler of SIGBUS while a job runs, its handler also gets the signals of
  /// the copies up to the next check.
  bool may_copy(mapped_file& file, const read_part& part) noexcept {
    constexpr std::uint32_t often = 32;
    constexpr std::uint32_t seldom = 256;
    constexpr std::uint32_t first_reads = 1024;
    const auto n = file.reads.fetch_add(1, std::memory_order_relaxed);
    if (n % (n < first_reads ? often : seldom) == 0)
      file.copies.store(file.map.is_cached(part.offset, part.into.size()) && copies_are_guarded(),
                        std::memory_order_relaxed);
    return file.copies.load(std::memory_order_relaxed);
  }

  /// Never null; the mapping has no bytes if the file is empty or cannot be mapped.
  mapped_ptr mapped(std::size_t object) {
    auto& slot_mutex = slot_mutexes_[object % slot_mutexes_.size()];
    {
      const mutex_lock lock{slot_mutex};
      if (slots_[object])
        return slots_[object];
    }
    auto file = std::make_shared<mapped_file>(files_, object);
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
    if (oldest.second->reads.load(std::memory_order_relaxed) < fewest_reads
        && oldest.second->searches.load(std::memory_order_relaxed) < fewest_searches)
      maps_.store(false, std::memory_order_relaxed);
    const mutex_lock lock{slot_mutexes_[oldest.first % slot_mutexes_.size()]};
    slots_[oldest.first] = nullptr;
  }

  /// Gives up all pages after every `most_touched` bytes: see mapped_use::passing.
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

  mapped_use use_;
  std::atomic<bool> maps_;
  /// Slot i is guarded by mutex i modulo their number.
  std::array<mutex, 16> slot_mutexes_;
  std::vector<mapped_ptr> slots_;
  /// Files of mapped_use::staying once they are mapped, to be read without a lock.
  std::vector<std::atomic<mapped_file*>> staying_;
  open_files files_;
  std::atomic<std::uint64_t> touched_{0};
  mutex open_mutex_;
  /// In the order in which they were mapped.
  std::deque<std::pair<std::size_t, mapped_ptr>> open_ LEAT_GUARDED_BY(open_mutex_);
};

class mapped_file_system final : public object_store {
public:
  explicit mapped_file_system(mapped_use use) : use_(use) {}

  void list(const std::string& folder,
            const std::function<void(listed_object)>& each) const override {
    local_store().list(folder, each);
  }
  object_stat stat(const std::string& name) const override { return local_store().stat(name); }
  std::shared_ptr<stored_objects> open(std::vector<std::string> names) const override {
    return std::make_shared<mapped_files>(std::move(names), use_);
  }
  std::shared_ptr<stored_objects> open(std::shared_ptr<const object_names> names,
                                       std::string stage) const override {
    return local_store().open(std::move(names), std::move(stage));
  }

private:
  mapped_use use_;
};

} // namespace

const object_store& mapped_store(mapped_use use) {
  static const mapped_file_system staying{mapped_use::staying};
  static const mapped_file_system passing{mapped_use::passing};
  return use == mapped_use::passing ? passing : staying;
}

} // namespace leat
