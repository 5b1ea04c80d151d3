#include "runtime/cluster/process/process_codec.hpp"

#include <wire/cluster.pb.h>

namespace leat {

void write(const incarnation& x, wire::Incarnation& to) {
  to.set_high(x.high);
  to.set_low(x.low);
  to.set_let_go(x.let_go);
}

incarnation read(const wire::Incarnation& x) {
  return {x.high(), x.low(), x.let_go()};
}

void write(const process_identity& x, wire::Process& to) {
  to.set_host_low(x.host.low);
  to.set_host_high(x.host.high);
  to.set_boot_low(x.boot.low);
  to.set_boot_high(x.boot.high);
  to.set_pid_namespace(x.pid_namespace);
  to.set_time_namespace(x.time_namespace);
  to.set_pid(x.pid);
  to.set_start_ticks(x.start_ticks);
}

process_identity read(const wire::Process& x) {
  return {.host = {x.host_low(), x.host_high()},
          .boot = {x.boot_low(), x.boot_high()},
          .pid_namespace = x.pid_namespace(),
          .time_namespace = x.time_namespace(),
          .pid = x.pid(),
          .start_ticks = x.start_ticks()};
}

void write(const job_rules& x, wire::JobRules& to) {
  to.set_world_size(x.world_size);
  to.set_least_ranks(x.least_ranks);
  to.set_most_ranks(x.most_ranks);
  to.set_comes_back_alone(x.comes_back_alone);
  to.set_run_ahead(x.run_ahead);
}

job_rules read(const wire::JobRules& x) {
  return {.world_size = x.world_size(),
          .least_ranks = x.least_ranks(),
          .most_ranks = x.most_ranks(),
          .comes_back_alone = x.comes_back_alone(),
          .run_ahead = x.run_ahead()};
}

} // namespace leat
