#include "runtime/feeding/feed_desk.hpp"

#include "runtime/base/error_in_flight.hpp"

namespace leat {

void feed_desk::tell_all() {
  changed.notify_all();
  for (const auto& [number, rank] : ranks)
    rank->notify_all();
}

void feed_desk::tell_news() {
  changed.notify_all();
  for (const auto link : server.take_news())
    if (const auto rank = ranks.find(link); rank != ranks.end())
      rank->second->notify_all();
}

void feed_desk::end() noexcept {
  const mutex_lock lock{guard};
  is_ending = true;
  tell_all();
}

void feed_desk::fail(const error& problem) noexcept {
  {
    const mutex_lock lock{guard};
    if (failure)
      return;
    try {
      failure = problem;
      server.failed(problem.what());
    } catch (...) { // no memory for that one
      failure = no_memory_to_tell;
      server.failed("no memory"); // so short that it needs none
    }
    tell_all();
  }
  try {
    log_(problem.what());
  } catch (...) { // the process says it at its end
  }
}

} // namespace leat
