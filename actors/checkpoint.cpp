#include "actors/checkpoint.hpp"

#include "runtime/base/exception_text.hpp"
#include "runtime/snapshot/snapshot_store.hpp"

#include <utility>

namespace leat {

namespace {

void write(const save_request& request) try {
  const auto begin = steady_ns();
  const auto bytes = encode(*request.part);
  const auto oldest = snapshot_store{request.directory}.save(*request.part, bytes, request.keep);
  if (request.metrics)
    request.metrics->saved(begin, steady_ns(), bytes.size());
  if (oldest && request.records)
    request.records->kept_from(request.directory, *oldest);
} catch (...) {
  throw error_in_flight(errc::io, {.stage = "snapshot", .file = request.directory});
}

} // namespace

void store(const save_request& request) {
  std::optional<error> problem;
  try {
    write(request);
  } catch (...) { // also of too little memory to say where
    problem = error_in_flight(errc::io, {.stage = "snapshot"});
  }
  request.done(std::move(problem));
}

checkpoint_actor::behavior_type
checkpoint(checkpoint_actor::stateful_pointer<checkpoint_state> self, gate_token alive) {
  self->state.alive = std::move(alive);
  return {
      [](const save_request& request) { store(request); },
  };
}

} // namespace leat
