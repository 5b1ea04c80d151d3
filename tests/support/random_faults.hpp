#pragma once

#include "tests/support/standard.hpp"

#include <chrono>
#include <cstdlib>
#include <functional>

// What tests of random faults have in common. Times are those of the machine.

namespace leat::test {

/// The number in a variable of the environment.
inline std::uint64_t number_in(const char* variable, std::uint64_t otherwise) {
  const auto* text = std::getenv(variable);
  return text ? std::stoull(text) : otherwise;
}

class dice {
public:
  explicit dice(std::uint64_t seed) : random_(seed) {}
  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  bool happens(unsigned percent) { return below(100) < percent; }
  std::chrono::milliseconds up_to(unsigned ms) { return std::chrono::milliseconds{below(ms + 1)}; }
  template <class T, std::size_t n>
  T one_of(const T (&choices)[n]) {
    return choices[below(n)];
  }

private:
  std::mt19937_64 random_;
};

/// What happened when, and what is still to happen.
class fault_story {
public:
  using clock = std::chrono::steady_clock;
  using milliseconds = std::chrono::milliseconds;

  void later(milliseconds delay, std::function<void()> what) {
    planned_.push_back({clock::now() + delay, std::move(what)});
  }
  void do_what_is_due() {
    for (std::size_t i = 0; i < planned_.size();)
      if (planned_[i].due <= clock::now()) {
        const auto what = std::move(planned_[i].what);
        planned_.erase(planned_.begin() + static_cast<std::ptrdiff_t>(i));
        what();
      } else
        ++i;
  }

  void tell(const std::string& what) {
    text_ += std::to_string(std::chrono::duration_cast<milliseconds>(clock::now() - began_).count())
             + " ms: " + what + "\n";
  }
  const std::string& text() const noexcept { return text_; }

  /// Whether a number that grows while a job does has grown in this time: nothing else shows a
  /// hang.
  bool has_moved(std::uintmax_t size, milliseconds within) {
    if (size != seen_) {
      seen_ = size;
      moved_ = clock::now();
    }
    return clock::now() - moved_ < within;
  }

private:
  struct planned {
    clock::time_point due;
    std::function<void()> what;
  };

  std::vector<planned> planned_;
  std::string text_;
  clock::time_point began_ = clock::now();
  clock::time_point moved_ = began_;
  std::uintmax_t seen_ = 0;
};

} // namespace leat::test
