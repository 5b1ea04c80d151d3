#include "tests/cluster/scenario.hpp"

#include <algorithm>

namespace leat::test {

namespace {

cluster_times times_of_tests() {
  return {.beat = seconds_of(0.25),
          .lost = seconds_of(1.5),
          .lost_unconnected = seconds_of(0.6),
          .lease = seconds_of(3),
          .rejoin_within = seconds_of(8),
          .last_call = seconds_of(1.5),
          .linger = seconds_of(4)};
}

std::vector<fault> usual_faults() {
  using enum fault;
  return {kill, kill, stop,   stop,      disconnect,       cut,  disconnect, cut,
          slow, twin, leader, full_disk, broken_directory, host, both};
}

void look_at(scenario& x, simulated_network& net, focus where) {
  switch (where) {
  case focus::anything:
    break;
  case focus::seats:
    x.lock_step = false;
    x.step_time = seconds_of(0.3);
    x.list_time = seconds_of(0.01);
    x.faults = {fault::cut, fault::cut, fault::stop, fault::twin, fault::leader, fault::kill};
    x.between_faults = seconds_of(0.6);
    break;
  case focus::ends:
    x.ahead = 5;
    x.list_time = seconds_of(0.08);
    x.between_faults = seconds_of(1);
    break;
  case focus::sets:
    x.lock_step = false;
    x.step_time = seconds_of(0.1);
    x.faults = {fault::kill, fault::stop, fault::disconnect};
    x.between_faults = seconds_of(0.7);
    break;
  case focus::alone:
    x.step_time = seconds_of(0.2);
    x.faults = {fault::kill, fault::kill, fault::stop, fault::twin, fault::leader};
    x.between_faults = seconds_of(0.8);
    break;
  case focus::leases:
    x.lock_step = false;
    x.step_time = seconds_of(0.3);
    x.list_time = seconds_of(0.01);
    x.faults = {fault::stop, fault::stop, fault::twin};
    x.between_faults = seconds_of(0.5);
    break;
  case focus::told:
    x.has_bad_sample = true;
    x.step_time = seconds_of(0.2);
    x.faults = {fault::disconnect, fault::cut, fault::leader, fault::leader,
                fault::broken_directory};
    x.between_faults = seconds_of(0.25);
    break;
  case focus::elastic:
    x.faults = {fault::kill, fault::stop, fault::cut, fault::host, fault::both};
    break;
  case focus::calm:
    x.faults.clear();
    break;
  }
  if (where != focus::anything && where != focus::calm)
    x.storm = net.one_of({seconds_of(12), seconds_of(20)});
}

std::optional<job_choice> choose_job(simulated_network& net, focus where) {
  const bool is_stateful = where == focus::ends || net.happens(0.7);
  job_choice x{.pipeline = is_stateful ? num_indexed_pipelines
                                             + net.below(num_pipelines - num_indexed_pipelines)
                                       : net.below(num_indexed_pipelines),
               .lanes = net.one_of({4U, 6U, 12U}),
               .items_per_lane = net.one_of({1U, 1U, 2U}),
               .end = net.one_of({epoch_end::drop, epoch_end::mask, epoch_end::cycle}),
               .epochs = net.one_of({1U, 2U}),
               .size = net.below(3)};
  if (where == focus::ends)
    x.end = net.one_of({epoch_end::drop, epoch_end::mask});
  if (x.end == epoch_end::cycle)
    x.epochs = 1;
  return x;
}

} // namespace

std::optional<scenario> make_scenario(simulated_network& net, focus where) {
  scenario x;
  x.job = simulated_job::of(*choose_job(net, where));
  if (!x.job)
    return std::nullopt;
  do
    x.ranks = net.one_of({1U, 2U, 3U, 4U, 6U});
  while (x.job->lanes() % x.ranks != 0);
  const bool is_elastic = where == focus::elastic || (where == focus::anything && net.happens(0.4));
  const bool is_alone = !is_elastic
                        && (where == focus::alone || where == focus::leases
                            || (where != focus::sets && net.happens(0.5)));
  x.settings.times = times_of_tests();
  x.rules.world_size = is_elastic ? 0 : x.ranks;
  x.rules.least_ranks = 1;
  x.rules.most_ranks = x.ranks;
  x.rules.comes_back_alone = is_alone;
  x.rules.run_ahead = net.one_of({3U, 8U, 1000U});
  x.spares = is_elastic ? net.below(3) : 0;
  x.lock_step = net.happens(0.5);
  x.ahead = net.one_of({1U, 2U, 5U});
  x.list_time = net.one_of({seconds_of(0.005), seconds_of(0.03), seconds_of(0.1)});
  x.step_time = net.one_of({seconds_of(0.02), seconds_of(0.1)});
  x.save_every = net.one_of({1U, 2U, 3U, 5U});
  x.storm = net.one_of({seconds_of(0), seconds_of(6), seconds_of(12), seconds_of(20)});
  x.between_faults = net.one_of({seconds_of(0.7), seconds_of(2), seconds_of(5)});
  x.faults = usual_faults();
  x.has_bad_sample = net.happens(0.08);
  x.has_stranger = net.happens(0.15);
  x.has_false_start = net.happens(0.1);
  look_at(x, net, where);
  return x;
}

} // namespace leat::test
