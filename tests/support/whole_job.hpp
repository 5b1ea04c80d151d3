#pragma once

#include "tests/support/job.hpp"
#include "tests/support/standard.hpp"

namespace leat {

/// The first `n`, or all if there are fewer.
template <class T>
std::vector<T> head_of(const std::vector<T>& x, std::size_t n) {
  return {x.begin(), x.begin() + static_cast<std::ptrdiff_t>(std::min(n, x.size()))};
}

/// All from this place on.
template <class T>
std::vector<T> tail_of(const std::vector<T>& x, std::size_t from) {
  return {x.begin() + static_cast<std::ptrdiff_t>(from), x.end()};
}

/// What a loader hands over, with its snapshots before the first batch and after each.
struct whole_job {
  explicit whole_job(loader& from, std::size_t most = SIZE_MAX) : states{from.snapshot()} {
    while (steps.size() < most) {
      const auto batch = from.next();
      if (!batch)
        break;
      append(steps, *batch);
      states.push_back(batch->snapshot());
    }
  }

  std::vector<job_step> steps;
  std::vector<std::string> states;
};

} // namespace leat
