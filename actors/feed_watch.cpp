#include "actors/feed_watch.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <caf/send.hpp>

#include <utility>

namespace leat {

void feed_watch::begin(const std::vector<std::shared_ptr<live_source>>& feeds,
                       const dispatcher_actor& to, const failure_handler& failed) {
  for (const auto& x : feeds)
    hang_up_.push_back(x->on_change([to, is_called = is_called_, failed] {
      try {
        if (!is_called->exchange(true))
          caf::anon_send(to, run_atom_v);
      } catch (...) { // in the feed's thread, which cannot do anything about it
        if (failed)
          failed(error_in_flight(errc::io, {.stage = "iterators"}));
      }
    }));
}

void feed_watch::stop() {
  for (const auto& hang_up : std::exchange(hang_up_, {}))
    hang_up();
}

} // namespace leat
