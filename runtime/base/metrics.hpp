#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ctime>

namespace leat {

/// Nanoseconds of the steady clock.
inline std::int64_t steady_ns() noexcept {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Nanoseconds that processors have spent on this thread.
inline std::int64_t processor_ns() noexcept {
  timespec x{};
  (void)::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &x);
  return std::int64_t{x.tv_sec} * 1'000'000'000 + x.tv_nsec;
}

/// What processors spend on one thread, which alone calls `take`.
class thread_work {
public:
  /// Counts from here on; with 0, from the thread's beginning.
  explicit thread_work(std::int64_t from = processor_ns()) noexcept : last_(from) {}

  /// Since the last call.
  std::chrono::nanoseconds take() noexcept {
    const auto before = last_;
    last_ = processor_ns();
    return std::chrono::nanoseconds{last_ - before};
  }

private:
  std::int64_t last_;
};

/// Adds to a number that only this thread writes and any thread reads. Avoids a locked instruction,
/// which takes a good part of the time of a small row.
template <class T>
void add_alone(std::atomic<T>& to, T n) noexcept {
  to.store(to.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

/// A number that any thread may add to and read. Accesses are relaxed: they order nothing else.
class counter {
public:
  void add(std::uint64_t n) noexcept { value_.fetch_add(n, std::memory_order_relaxed); }
  void subtract(std::uint64_t n) noexcept { value_.fetch_sub(n, std::memory_order_relaxed); }
  void set(std::uint64_t n) noexcept { value_.store(n, std::memory_order_relaxed); }
  std::uint64_t get() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
  std::atomic<std::uint64_t> value_{0};
};

/// A time that any thread may add to and read.
class time_counter {
public:
  void add(std::chrono::nanoseconds x) noexcept {
    ns_.fetch_add(x.count(), std::memory_order_relaxed);
  }
  std::chrono::nanoseconds get() const noexcept {
    return std::chrono::nanoseconds{ns_.load(std::memory_order_relaxed)};
  }

private:
  std::atomic<std::int64_t> ns_{0};
};

/// The content of a histogram when it was read.
struct duration_spread {
  static constexpr std::size_t num_bins = 48;

  std::uint64_t count = 0;
  std::chrono::nanoseconds sum{0};
  /// Bin i counts durations of 2^(i-1) .. 2^i - 1 ns, bin 0 those of 0, and the last bin also all
  /// longer ones (39 hours).
  std::array<std::uint64_t, num_bins> bins{};

  /// The smallest upper end of a bin that `share` (0 .. 1) of the durations do not exceed; 0 if
  /// there are none.
  std::chrono::nanoseconds at_most(double share) const noexcept {
    const auto wanted = static_cast<double>(count) * share;
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < num_bins; ++i) {
      seen += bins[i];
      if (seen > 0 && static_cast<double>(seen) >= wanted)
        return std::chrono::nanoseconds{(std::int64_t{1} << i) - 1};
    }
    return std::chrono::nanoseconds{0};
  }
};

/// Counts durations in bins by powers of 2, so that it never grows. Any thread may add and read.
class histogram {
public:
  void add(std::chrono::nanoseconds x) noexcept {
    const auto ns = static_cast<std::uint64_t>(x.count() > 0 ? x.count() : 0);
    const auto bin = static_cast<std::size_t>(std::bit_width(ns));
    bins_[bin < bins_.size() ? bin : bins_.size() - 1].add(1);
    sum_.add(std::chrono::nanoseconds{ns});
  }

  /// While other threads add, the count matches the bins that were read, and the sum may lag or
  /// lead a little.
  duration_spread read() const noexcept {
    duration_spread result;
    for (std::size_t i = 0; i < bins_.size(); ++i)
      result.count += result.bins[i] = bins_[i].get();
    result.sum = sum_.get();
    return result;
  }

  std::chrono::nanoseconds sum() const noexcept { return sum_.get(); }

private:
  std::array<counter, duration_spread::num_bins> bins_;
  time_counter sum_;
};

} // namespace leat
