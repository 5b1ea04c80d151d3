#include "runtime/cluster/feed_rates.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace leat {

namespace {

/// Counts begin again with another loader.
double grown(std::uint64_t now, std::uint64_t before) {
  return static_cast<double>(now - std::min(now, before));
}

} // namespace

void feed_rates::measure(std::chrono::nanoseconds span) {
  const auto ns = static_cast<double>(span.count());
  const auto per_second = [&](double x) { return static_cast<std::uint64_t>(1e9 * x / ns); };
  std::map<std::string, feed_progress> measured;
  for (const auto& x : now_) {
    auto& to = measured[x.name] = x;
    const auto before = measured_.find(x.name);
    if (ns <= 0 || before == measured_.end())
      continue;
    const auto& from = before->second;
    to.records_per_second = per_second(grown(x.records_received, from.records_received));
    to.bytes_per_second = per_second(grown(x.bytes_received, from.bytes_received));
    to.hunger = static_cast<std::uint64_t>(
        1000 * std::clamp(grown(x.waited_ns, from.waited_ns) / ns, 0.0, 1.0));
  }
  measured_ = std::move(measured);
}

std::vector<feed_progress> feed_rates::all() const {
  auto all = now_;
  for (auto& x : all)
    if (const auto found = measured_.find(x.name); found != measured_.end()) {
      x.records_per_second = found->second.records_per_second;
      x.bytes_per_second = found->second.bytes_per_second;
      x.hunger = found->second.hunger;
    }
  return all;
}

} // namespace leat
