#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

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

} // namespace leat
