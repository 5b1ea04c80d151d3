#include "runtime/cluster/coordinator_state.hpp"

#include "runtime/cluster/process/process_codec.hpp"

#include <leat/error.hpp>

#include <wire/cluster.pb.h>

namespace leat {

std::string encode(const coordinator_state& x) {
  wire::ClusterState to;
  to.set_term(x.term);
  to.set_phase(static_cast<std::uint32_t>(x.phase));
  for (const auto& seat : x.seats) {
    auto& one = *to.add_seats();
    write(seat.holder, *one.mutable_holder());
    one.set_has_come_back(seat.has_come_back);
    write(seat.process, *one.mutable_process());
  }
  if (x.rules)
    write(*x.rules, *to.mutable_rules());
  to.set_work_low(x.work.low);
  to.set_work_high(x.work.high);
  if (x.start) {
    to.set_has_start(true);
    to.set_start_epoch(x.start->epoch);
    to.set_start_step(x.start->step);
  }
  to.set_reason(x.reason);
  to.set_sets(x.sets);
  return to.SerializeAsString();
}

coordinator_state decode_coordinator_state(std::string_view bytes, const std::string& name) {
  wire::ClusterState from;
  const bool is_good = from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))
                       && from.phase() <= static_cast<std::uint32_t>(job_phase::failed)
                       && (from.phase() != static_cast<std::uint32_t>(job_phase::running)
                           || (from.term() > 0 && from.seats_size() > 0));
  if (!is_good)
    throw error(errc::torn_file, {.stage = "cluster state",
                                  .file = name,
                                  .got = std::to_string(bytes.size()) + " bytes of something else",
                                  .needed = "what a coordinator has written"});
  coordinator_state x{.term = from.term(),
                      .phase = static_cast<job_phase>(from.phase()),
                      .work = {from.work_low(), from.work_high()},
                      .reason = from.reason(),
                      .sets = from.sets()};
  if (from.has_rules())
    x.rules = read(from.rules());
  else if (x.phase == job_phase::running)
    x.phase = job_phase::forming; // of a version that did not keep them: all begin again
  for (const auto& seat : from.seats())
    x.seats.push_back({.holder = read(seat.holder()),
                       .process = read(seat.process()),
                       .has_come_back = seat.has_come_back()});
  if (from.has_start())
    x.start = job_position{from.start_epoch(), from.start_step()};
  return x;
}

} // namespace leat
