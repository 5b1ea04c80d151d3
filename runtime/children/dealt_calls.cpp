#include "runtime/children/dealt_calls.hpp"

#include <algorithm>

namespace leat {

namespace {

/// What the end of its process says about a single call, or about those that were never made.
std::optional<call_verdict> verdict_on(dealt_part& call, end_of_child meaning,
                                       const child_exit& how) {
  const auto is = [&](call_verdict::kind what) { return call_verdict{what, call.first, how}; };
  switch (meaning) {
  case end_of_child::fault:
    if (++call.faults >= dealt_calls::most_faults)
      return is(call_verdict::kind::killed);
    call.needs_new_process = true;
    break;
  case end_of_child::out_of_memory:
    if (++call.times_without_memory >= dealt_calls::most_times_without_memory)
      return is(call_verdict::kind::no_memory);
    break;
  case end_of_child::lost:
    if (++call.losses >= dealt_calls::most_losses)
      return is(call_verdict::kind::lost);
    break;
  }
  return std::nullopt;
}

} // namespace

dealt_calls::dealt_calls(std::size_t calls, std::size_t processes) {
  // The parts get smaller and smaller, so that processes finish at about the same time.
  for (std::size_t first = 0; first < calls;) {
    const auto size = std::max<std::size_t>(1, (calls - first) / (2 * processes));
    waiting_.push_back({.first = first, .end = first + size});
    first += size;
  }
}

std::optional<dealt_part> dealt_calls::next() {
  if (waiting_.empty())
    return std::nullopt;
  const auto part = waiting_.front();
  waiting_.pop_front();
  return part;
}

std::optional<call_verdict> dealt_calls::ended(const dealt_part& part, const child_exit& how,
                                               bool had_begun) {
  if (part.size() == 1 || !had_begun) {
    auto again = part;
    auto meaning = meaning_of(how);
    if (meaning == end_of_child::fault && !had_begun) // no call has caused it
      meaning = end_of_child::lost;
    auto verdict = verdict_on(again, meaning, how);
    if (!verdict)
      waiting_.push_front(again);
    return verdict;
  }
  for (auto call = part.end; call > part.first; --call)
    waiting_.push_front({.first = call - 1, .end = call});
  return std::nullopt;
}

} // namespace leat
