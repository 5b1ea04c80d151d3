#include "runtime/storage/mapped_store.hpp"

#include "runtime/base/mutex.hpp"
#include "runtime/storage/guarded_copy.hpp"
#include "runtime/storage/local_store.hpp"
#include "runtime/storage/open_files.hpp"

#include <leat/error.hpp>

#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <deque>
#include <exception>
#include <utility>

namespace leat {

namespace {

/// A file in memory, as long as it was when it was mapped.
class file_mapping {
public:
  file_mapping() = default;
  /// Empty if the file cannot be mapped.
  explicit file_mapping(const std::string& path) noexcept {
    try {
      map(path);
    } catch (const std::exception&) { // reading it in another way says why
    }
  }
  ~file_mapping() {
    if (!bytes_.empty())
      ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
  }
  file_mapping(const file_mapping&) = delete;
  file_mapping& operator=(const file_mapping&) = delete;

  std::span<const std::byte> bytes() const noexcept { return bytes_; }

  /// Whether bytes of the file, which has been mapped, are in the page cache with the page after
  /// them, as far as the system tells: mincore says so to a file's owner, and that everything is to
  /// others; a read that must not wait makes the pages of a file's holes. Of many pages, looks at
  /// the first ones.
  bool is_cached(std::uint64_t offset, std::uint64_t size) const noexcept {
    static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    if (offset >= bytes_.size())
      return false;
    const auto begin = offset / page * page;
    std::array<unsigned char, 64> pages{};
    const auto count = std::min<std::uint64_t>({pages.size(), (offset % page + size) / page + 2,
                                                (bytes_.size() - begin + page - 1) / page});
    auto* at = const_cast<std::byte*>(bytes_.data()) + begin;
    if (::mincore(at, static_cast<std::size_t>(count * page), pages.data()) != 0
        || std::any_of(pages.begin(), pages.begin() + static_cast<std::ptrdiff_t>(count),
                       [](auto x) { return (x & 1) == 0; }))
      return false;
    std::byte x{};
    const iovec into{&x, 1};
    const auto n = ::preadv2(file_.get(), &into, 1, static_cast<off_t>(offset), RWF_NOWAIT);
    return n >= 0 || errno != EAGAIN;
  }

private:
  void map(const std::string& path) {
    file_ = file_descriptor::open(path);
    const auto size = static_cast<std::size_t>(version_of(file_, path).size);
    if (size == 0)
      return;
    auto* at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file_.get(), 0);
    if (at != MAP_FAILED)
      bytes_ = {static_cast<const std::byte*>(at), size};
  }

  file_descriptor file_;
  std::span<const std::byte> bytes_;
};

/// More files than this are read with pread(2): each that is mapped stays open.
constexpr std::size_t most_mapped = 128;

class mapped_files final : public stored_objects {
public:
  explicit mapped_files(std::vector<std::string> names)
      : mappings_(names.size() <= most_mapped ? names.size() : 0),
        files_(local_store().open(std::move(names))) {}

  std::string name(std::size_t object) const override { return files_->name(object); }
  object_version stat(std::size_t object) override { return files_->stat(object); }
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
    // Bytes that a mapping does not have: the first of them is asked for again.
    return x.bytes > 0 || parts.empty() ? x : files_->read_here(parts, stop);
  }

private:
  bool copy(const read_part& part) {
    if (part.into.empty() || mappings_.empty())
      return false;
    const auto* map = mapping_of(part.object);
    return !map->bytes().empty() && may_copy(*map, part)
           && guarded_copy(map->bytes(), part.offset, part.into);
  }

  /// Looks only now and then, and the reads until the next time are taken to be like this one:
  /// bytes that are not in the page cache are better read with pread(2), which asks the disk once
  /// for exactly these, and reads ahead where others follow. Who replaces the handler of SIGBUS
  /// while a job runs also gets the signals of the copies up to the next time.
  bool may_copy(const file_mapping& map, const read_part& part) noexcept {
    constexpr std::uint32_t every = 32;
    if (reads_.fetch_add(1, std::memory_order_relaxed) % every == 0)
      copies_.store(map.is_cached(part.offset, part.into.size()) && copies_are_guarded(),
                    std::memory_order_relaxed);
    return copies_.load(std::memory_order_relaxed);
  }

  /// Without bytes if the file has none, or cannot be mapped.
  const file_mapping* mapping_of(std::size_t object) {
    auto& slot = mappings_[object];
    if (const auto* known = slot.load(std::memory_order_acquire))
      return known;
    mutex_lock lock{mutex_};
    if (const auto* known = slot.load(std::memory_order_relaxed))
      return known;
    held_.emplace_back(files_->name(object));
    slot.store(&held_.back(), std::memory_order_release);
    return &held_.back();
  }

  std::vector<std::atomic<const file_mapping*>> mappings_;
  std::shared_ptr<stored_objects> files_;
  std::atomic<std::uint32_t> reads_{0};
  std::atomic<bool> copies_{false};
  mutex mutex_;
  std::deque<file_mapping> held_ LEAT_GUARDED_BY(mutex_);
};

class mapped_file_system final : public object_store {
public:
  void list(const std::string& folder,
            const std::function<void(listed_object)>& each) const override {
    local_store().list(folder, each);
  }
  object_stat stat(const std::string& name) const override { return local_store().stat(name); }
  std::shared_ptr<stored_objects> open(std::vector<std::string> names) const override {
    return std::make_shared<mapped_files>(std::move(names));
  }
  std::shared_ptr<stored_objects> open(std::shared_ptr<const object_names> names,
                                       std::string stage) const override {
    return local_store().open(std::move(names), std::move(stage));
  }
};

} // namespace

const object_store& mapped_store() {
  static const mapped_file_system only;
  return only;
}

} // namespace leat
