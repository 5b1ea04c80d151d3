#include "runtime/storage/mapped_store.hpp"

#include "runtime/base/mutex.hpp"
#include "runtime/storage/guarded_copy.hpp"
#include "runtime/storage/local_store.hpp"
#include "runtime/storage/open_files.hpp"

#include <leat/error.hpp>

#include <sys/mman.h>

#include <atomic>
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

private:
  void map(const std::string& path) {
    const auto file = file_descriptor::open(path);
    const auto size = static_cast<std::size_t>(version_of(file, path).size);
    if (size == 0)
      return;
    auto* at = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, file.get(), 0);
    if (at != MAP_FAILED)
      bytes_ = {static_cast<const std::byte*>(at), size};
  }

  std::span<const std::byte> bytes_;
};

/// More files than this are read with pread(2): address space and kernel memory are not free.
constexpr std::size_t most_mapped = 4096;

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
    if (part.into.empty() || mappings_.empty() || !may_copy())
      return false;
    const auto* map = mapping_of(part.object);
    return guarded_copy(map->bytes(), part.offset, part.into);
  }

  /// Asks now and then: who replaces the handler of SIGBUS while a job runs also gets the signals
  /// of the few copies before the next time.
  bool may_copy() noexcept {
    constexpr std::uint32_t every = 256;
    if (copies_.fetch_add(1, std::memory_order_relaxed) % every == 0)
      is_guarded_.store(copies_are_guarded(), std::memory_order_relaxed);
    return is_guarded_.load(std::memory_order_relaxed);
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
  std::atomic<std::uint32_t> copies_{0};
  std::atomic<bool> is_guarded_{false};
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
