#include "actors/checkpoint.hpp"

#include "actors/caf/keep_until_end.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/metrics.hpp"
#include "runtime/snapshot/snapshot_store.hpp"

#include <utility>

namespace leat {

save_report store(const save_request& request) noexcept {
  save_report report;
  try {
    try {
      report.begin_ns = steady_ns();
      const auto bytes = encode(*request.part);
      report.bytes = bytes.size();
      report.oldest = snapshot_store{request.directory}.save(*request.part, bytes, request.keep);
      report.end_ns = steady_ns();
    } catch (...) {
      throw error_in_flight(errc::io, {.stage = "snapshot", .file = request.directory});
    }
  } catch (...) { // perhaps there is no memory even for the text
    report.problem = error_in_flight(errc::io, {.stage = "snapshot"});
  }
  return report;
}

checkpoint_actor::behavior_type
checkpoint(checkpoint_actor::stateful_pointer<checkpoint_state> self, gate_token alive) {
  keep_until_end(self, std::move(alive));
  return {
      [](const save_request& request) { return store(request); },
  };
}

} // namespace leat
