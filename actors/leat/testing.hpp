#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace leat {

/// Failures on purpose, for demonstrations and drills.
struct fault_drill {
  /// A worker takes this much longer for each row.
  struct delay {
    std::size_t worker = 0;
    std::chrono::milliseconds by{0};
  };
  /// A worker dies, once, at the first row that it gets at or after the position, in the rank that
  /// owns the position. If there are several deaths for one worker, each next one is for the worker
  /// that takes its place.
  struct death {
    std::size_t worker = 0;
    std::uint64_t position = 0;
  };
  std::vector<delay> slow = {};
  /// A function throws at these positions of every epoch.
  std::vector<std::uint64_t> throw_at = {};
  std::vector<death> deaths = {};
};

/// For loader_options::fault.
inline std::shared_ptr<const fault_drill> drill(fault_drill x) {
  return std::make_shared<const fault_drill>(std::move(x));
}

} // namespace leat
