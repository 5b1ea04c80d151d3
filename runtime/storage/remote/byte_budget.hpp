#pragma once

#include "runtime/base/threads/mutex.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>

namespace leat {

/// Bounds the memory of what is read ahead from stores that are not local. What somebody waits for
/// is read in any case. Any thread.
class byte_budget {
public:
  explicit byte_budget(std::uint64_t limit) noexcept : limit_(limit) {}

  /// False if so many more bytes do not fit.
  bool take(std::uint64_t bytes) noexcept {
    auto used = used_.load(std::memory_order_relaxed);
    do
      if (bytes > limit() || used > limit() - bytes)
        return false;
    while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
    return true;
  }
  /// Takes them even if they do not fit.
  void take_anyway(std::uint64_t bytes) noexcept {
    used_.fetch_add(bytes, std::memory_order_relaxed);
  }
  void give_back(std::uint64_t bytes) noexcept {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
  }
  std::uint64_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  std::uint64_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
  void set_limit(std::uint64_t bytes) noexcept { limit_.store(bytes, std::memory_order_relaxed); }

private:
  std::atomic<std::uint64_t> limit_;
  std::atomic<std::uint64_t> used_{0};
};

/// The one of this process: 256 MiB.
byte_budget& process_read_ahead() noexcept;

/// Memory for what is read ahead. What is given back serves the next reads: memory that the system
/// has to find again, page by page, costs more than to receive the bytes into it. Buffers may
/// outlive this. Any thread.
class read_buffers : public std::enable_shared_from_this<read_buffers> {
public:
  /// What lies here unused is kept within the budget, too, which outlives this and all buffers.
  explicit read_buffers(byte_budget& budget) noexcept : budget_(budget) {}
  ~read_buffers();
  read_buffers(const read_buffers&) = delete;
  read_buffers& operator=(const read_buffers&) = delete;

  byte_budget& budget() const noexcept { return budget_; }
  /// Memory for so many bytes, whose content is not defined. Throws std::bad_alloc.
  std::shared_ptr<std::byte[]> take(std::size_t bytes);
  /// Frees what is not used.
  void clear() noexcept;

private:
  void give_back(std::byte* bytes, std::size_t capacity) noexcept;
  void free_first() noexcept LEAT_REQUIRES(mutex_);

  static constexpr std::uint64_t most_unused = std::uint64_t{16} << 20;

  byte_budget& budget_;
  mutex mutex_;
  /// By their capacities.
  std::multimap<std::size_t, std::byte*> unused_ LEAT_GUARDED_BY(mutex_);
  std::uint64_t unused_bytes_ LEAT_GUARDED_BY(mutex_) = 0;
};

} // namespace leat
