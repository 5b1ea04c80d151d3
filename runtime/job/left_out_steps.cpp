#include "runtime/job/left_out_steps.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <algorithm>
#include <string>

namespace leat {

void left_out_steps::add(const step_range& steps, std::uint64_t now) {
  const auto refuse = [&](const std::string& why, const std::string& needed) {
    refuse_argument("leave_out_steps",
                    std::to_string(steps.first) + " to " + std::to_string(steps.last) + why,
                    needed);
  };
  if (steps.first > steps.last)
    refuse("", "a first step that is not above the last");
  if (steps.first < now)
    if (const auto past = all_.first_missing({steps.first, std::min(steps.last, now - 1)}))
      refuse(", but step " + std::to_string(*past) + " is past and was not left out",
             "steps from " + std::to_string(now) + " on, or an earlier snapshot");
  all_.add(steps);
  named_.push_back(steps);
}

left_out_steps left_out_steps::restored(const std::vector<step_range>& of_snapshot,
                                        std::uint64_t now) const {
  left_out_steps result;
  result.all_ = step_set{of_snapshot};
  for (const auto& steps : named_)
    result.add(steps, now);
  return result;
}

} // namespace leat
