#pragma once

#include "messages/cluster/feed_progress.hpp"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace leat {

/// What feeds have given a rank, and how fast, measured from one beat to the next. A plain value.
class feed_rates {
public:
  /// So much there is by now.
  void note(std::vector<feed_progress> x) { now_ = std::move(x); }
  /// So much time has passed since the last call; 0: that is not known.
  void measure(std::chrono::nanoseconds span);
  /// What there is, with the rates that were measured last.
  std::vector<feed_progress> all() const;

private:
  std::vector<feed_progress> now_;
  /// By name: what there was when it was measured last, and the rates.
  std::map<std::string, feed_progress> measured_;
};

} // namespace leat
