#pragma once

#include "tests/support/standard.hpp"

namespace leat::test {

/// Time since the beginning of a simulation, or by a process's own clock.
using virtual_time = std::chrono::nanoseconds;

inline virtual_time seconds_of(double x) {
  return virtual_time{static_cast<virtual_time::rep>(x * 1e9)};
}

/// Virtual time, and what happens by chance in it. The seed determines everything.
class simulated_time {
public:
  explicit simulated_time(std::uint64_t seed) : chance_(seed) {}

  // Chance:
  std::uint64_t below(std::uint64_t n) { return chance_() % n; }
  double between(double a, double b) {
    return a + (b - a) * static_cast<double>(chance_() >> 11) * 0x1p-53;
  }
  bool happens(double probability) { return between(0, 1) < probability; }
  template <class T>
  T one_of(std::initializer_list<T> x) {
    return *std::next(x.begin(), static_cast<std::ptrdiff_t>(below(x.size())));
  }
  template <class T>
  T one_of(const std::vector<T>& x) {
    return x[below(x.size())];
  }

  // Time:
  virtual_time now() const noexcept { return now_; }
  void at(virtual_time when, std::function<void()> what) {
    heap_.push_back({std::max(when, now_), ++number_, std::move(what)});
    std::push_heap(heap_.begin(), heap_.end(), is_later);
  }
  void in(virtual_time time, std::function<void()> what) { at(now_ + time, std::move(what)); }
  /// Runs up to that time, or until stop().
  void run(virtual_time until) {
    while (!is_over_ && !heap_.empty() && heap_.front().when <= until) {
      std::pop_heap(heap_.begin(), heap_.end(), is_later);
      auto next = std::move(heap_.back());
      heap_.pop_back();
      now_ = next.when;
      ++events_;
      next.what();
    }
  }
  void stop() noexcept { is_over_ = true; }
  std::uint64_t events() const noexcept { return events_; }

private:
  struct event {
    virtual_time when;
    std::uint64_t number;
    std::function<void()> what;
  };
  static bool is_later(const event& a, const event& b) {
    return std::pair{a.when, a.number} > std::pair{b.when, b.number};
  }

  std::mt19937_64 chance_;
  virtual_time now_{0};
  bool is_over_ = false;
  std::uint64_t number_ = 0;
  std::uint64_t events_ = 0;
  std::vector<event> heap_;
};

} // namespace leat::test
