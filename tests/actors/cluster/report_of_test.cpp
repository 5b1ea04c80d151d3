#include "actors/cluster/report_of.hpp"
#include "runtime/cluster/coordinator_state.hpp"
#include "tests/support/catch.hpp"

#include <vector>

namespace leat::report_of_test {
namespace {

rank_status rank_at(std::uint64_t rank, std::optional<std::uint64_t> global_step) {
  return {.rank = rank,
          .host_name = "node" + std::to_string(rank),
          .pid = 100 + rank,
          .at = {1, global_step.value_or(0)},
          .global_step = global_step,
          .is_connected = true};
}

cluster_status status_with(std::vector<rank_status> ranks, job_phase phase = job_phase::running) {
  return {.life = 2,
          .term = 1,
          .phase = static_cast<std::uint8_t>(phase),
          .rules = {.world_size = ranks.size()},
          .ranks = std::move(ranks)};
}

rank_state state_of(const rank_status& x, job_phase phase = job_phase::running) {
  return report_of("a:1", status_with({x}, phase)).ranks.at(0).state;
}

} // namespace

TEST_CASE("report: lag is counted from the rank that is furthest, where a rank has a place") {
  const auto x =
      report_of("a:1", status_with({rank_at(0, 20), rank_at(1, std::nullopt), rank_at(2, 17)}));
  CHECK(x.ranks.at(0).lag == 0);
  CHECK_FALSE(x.ranks.at(1).lag);
  CHECK(x.ranks.at(2).lag == 3);
  CHECK(x.ranks.at(2).at == job_position{1, 17});
}

TEST_CASE("report: a rank's state is the first thing that is wrong with it") {
  CHECK(state_of(rank_at(0, 1)) == rank_state::running);
  CHECK(state_of(rank_at(0, std::nullopt)) == rank_state::loading);
  CHECK(state_of({}) == rank_state::unheard);
  auto x = rank_at(0, 1);
  x.silent_ns = 3'100'000'000;
  CHECK(state_of(x) == rank_state::silent);
  x.is_connected = false;
  CHECK(state_of(x) == rank_state::disconnected);
  x.is_done = true;
  CHECK(state_of(x) == rank_state::done);
  x.failure = "a bad sample";
  CHECK(state_of(x) == rank_state::failed);
}

TEST_CASE("report: a rank's feeds are as it states them, with its lag") {
  auto rank = rank_at(0, 1);
  rank.fed = {{.name = "queue",
               .at = "10.0.0.5:4242",
               .has_journal = true,
               .records_read = 50,
               .reached = 42,
               .needed_from = 3,
               .records_received = 21,
               .bytes_received = 2100,
               .waited_ns = 77,
               .records_per_second = 5,
               .bytes_per_second = 500,
               .hunger = 120}};
  const auto seen = report_of("a:1", status_with({rank})).ranks.at(0);
  const feed_report expected{.name = "queue",
                             .at = "10.0.0.5:4242",
                             .has_journal = true,
                             .records_read = 50,
                             .reached = 42,
                             .needed_from = 3,
                             .records_received = 21,
                             .bytes_received = 2100,
                             .waited = std::chrono::nanoseconds{77},
                             .records_per_second = 5,
                             .bytes_per_second = 500,
                             .waiting_permille = 120};
  CHECK(seen.feeds == std::vector{expected});
  CHECK(seen.feeds.front().lag() == 8);
  CHECK(feed_report{.records_read = 3, .reached = 5}.lag() == 0);
}

TEST_CASE("report: no rank runs where no term does") {
  CHECK(state_of(rank_at(0, 1), job_phase::forming) == rank_state::ended);
  CHECK(state_of(rank_at(0, 1), job_phase::failed) == rank_state::ended);
  CHECK(state_of(rank_at(0, 1), job_phase::over) == rank_state::done);
  CHECK(report_of("a:1", status_with({}, job_phase::failed)).phase == cluster_phase::failed);
  CHECK(report_of("a:1", status_with({}, job_phase{77})).phase == cluster_phase::forming);
}

TEST_CASE("report: the number of ranks is fixed, or within limits, or not known") {
  auto x = status_with({});
  x.rules = {.world_size = 4};
  CHECK(report_of("a:1", x).wanted == ranks_wanted{4, 4});
  x.rules = {.world_size = 0, .least_ranks = 2, .most_ranks = 8};
  CHECK(report_of("a:1", x).wanted == ranks_wanted{2, 8});
  x.rules = {.world_size = 0, .least_ranks = 0, .most_ranks = 0};
  CHECK_FALSE(report_of("a:1", x).wanted);
}

} // namespace leat::report_of_test
