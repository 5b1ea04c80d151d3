#include "runtime/cluster/coordinator_state.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/cluster/wire_fields.hpp"

#include <wire/cluster.pb.h>

namespace leat {

template <class Visit>
void fields(const Visit& visit, either<coordinator_state::seat> auto& x) {
  visit(LEAT_FIELD(holder), LEAT_FIELD(has_come_back), LEAT_FIELD(process));
}

template <class Visit, either<coordinator_state> State>
void fields(const Visit& visit, State& x) {
  auto phase = static_cast<std::uint32_t>(x.phase);
  bool has_start = x.start.has_value();
  auto start = x.start.value_or(job_position{});
  visit(LEAT_FIELD(term), LEAT_FIELD_AS(phase, phase), LEAT_FIELD(seats), LEAT_FIELD(rules),
        LEAT_FIELD_AS(x.work.low, work_low), LEAT_FIELD_AS(x.work.high, work_high),
        LEAT_FIELD_AS(has_start, has_start), LEAT_FIELD_AS(start.epoch, start_epoch),
        LEAT_FIELD_AS(start.step, start_step), LEAT_FIELD(reason), LEAT_FIELD(sets));
  if constexpr (!std::is_const_v<State>) {
    x.phase = static_cast<job_phase>(phase);
    x.start = has_start ? std::optional{start} : std::nullopt;
  }
}

std::string encode(const coordinator_state& x) {
  return bytes_of<wire::ClusterState>(x);
}

coordinator_state decode_coordinator_state(std::string_view bytes, const std::string& name) {
  wire::ClusterState from;
  const bool is_good = from.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))
                       && from.phase() <= static_cast<std::uint32_t>(job_phase::failed)
                       && (from.phase() != static_cast<std::uint32_t>(job_phase::running)
                           || (from.term() > 0 && from.seats_size() > 0));
  if (!is_good)
    throw_file_error(errc::torn_file, "cluster state", name,
                     std::to_string(bytes.size()) + " bytes of something else",
                     "what a coordinator has written");
  coordinator_state x;
  fields(wire_reader<wire::ClusterState>{from}, x);
  if (!x.rules && x.phase == job_phase::running)
    x.phase = job_phase::forming; // written by a version that did not keep them: all begin again
  return x;
}

} // namespace leat
