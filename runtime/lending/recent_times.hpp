#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

namespace leat {

/// The latest measurements of something, of which the median counts: a few that are unlike the
/// others change nothing.
class recent_times {
public:
  explicit recent_times(std::size_t kept) noexcept : kept_(kept) {}

  void add(std::int64_t x) {
    times_.push_back(x);
    if (times_.size() > kept_)
      times_.pop_front();
  }
  std::size_t size() const noexcept { return times_.size(); }
  /// 0 if there are none.
  std::int64_t median() const {
    if (times_.empty())
      return 0;
    std::vector<std::int64_t> sorted{times_.begin(), times_.end()};
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    return *middle;
  }

private:
  std::size_t kept_;
  std::deque<std::int64_t> times_;
};

} // namespace leat
