#include "runtime/snapshot/snapshot_store.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/standard.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/order.hpp>
#include <leat/pipeline.hpp>
#include <leat/sources.hpp>
#include <leat/streams.hpp>
#include <leat/testing.hpp>

#include "tools/leat/run_log.hpp"
#include "tools/leat/training_job.hpp"

// Jobs that leave steps out, are killed anywhere and started again with the same settings.
namespace leat::command::training_job_test {
namespace {

constexpr std::uint64_t steps_per_epoch = 7;
constexpr std::uint64_t rows = 6;

/// An indexed order, and one of unknown length with a state in every lane.
std::vector<pipeline> both_kinds() {
  const auto records = count(steps_per_epoch * rows + 2);
  return {records.shuffle({.seed = 3}).batch(rows),
          records.shuffle_buffer(12, 5).batch(rows, {.lanes = 6, .end = epoch_end::drop})};
}

struct killed {};

/// Ids by position, by step of the job.
using id_table = std::map<std::uint64_t, std::map<std::uint64_t, std::string>>;

id_table due_of(const pipeline& data, std::uint64_t epochs) {
  id_table result;
  for (std::uint64_t e = 0; e < epochs; ++e) {
    for (const auto& due : order_preview{data, {.epoch = e}})
      for (std::size_t i = 0; i < due.ids.size(); ++i)
        result[e * steps_per_epoch + due.step][due.positions[i]] = due.ids[i];
  }
  return result;
}

/// What the log says that the job's weights have seen: steps that are handed over again replace
/// what was there from the resumed step on.
struct trained {
  id_table steps = {};
  /// Handed over by the last attempt, in this order.
  std::vector<std::uint64_t> last_attempt = {};

  void read(const std::string& file) {
    log_reader log{file};
    while (auto line = log.next())
      if (auto* start = std::get_if<attempt_start>(&*line)) {
        const auto at = start->resumed_at.value_or(job_position{});
        steps.erase(steps.lower_bound(at.epoch * steps_per_epoch + at.step), steps.end());
        last_attempt.clear();
      } else {
        add(std::get<batch_line>(*line));
      }
  }

  void add(const batch_line& line) {
    const auto step = line.epoch * steps_per_epoch + line.step;
    if (last_attempt.empty() || last_attempt.back() != step) {
      REQUIRE(steps.lower_bound(step) == steps.end());
      last_attempt.push_back(step);
    }
    for (std::size_t i = 0; i < line.ids.size(); ++i)
      REQUIRE(steps[step].try_emplace(line.positions[i], line.ids[i]).second);
  }
};

/// A job with its constant settings.
struct random_job {
  std::mt19937 random;
  test::temporary_directory at;
  pipeline data;
  training_settings settings;
  std::set<std::uint64_t> left_out;
  std::uint64_t end = 0;

  explicit random_job(std::uint32_t seed) : random(seed), data(both_kinds()[random() % 2]) {
    settings.loader.epochs = 1 + random() % 3;
    end = settings.loader.epochs * steps_per_epoch;
    if (random() % 2 == 0) {
      settings.loader.steps = 1 + random() % (end + 3);
      end = std::min(end, settings.loader.steps);
    }
    for (auto n = random() % 4; n > 0; --n) {
      const auto first = random() % (end + 2);
      const auto last = random() % 16 == 0 ? UINT64_MAX : first + random() % 4;
      settings.left_out.push_back({first, last});
      for (auto step = first; step <= std::min(last, end); ++step)
        left_out.insert(step);
    }
    settings.snapshot_dir = at / "snapshots";
    settings.snapshot_every = 1 + random() % 4;
    settings.resume = true;
    settings.log = at / "log";
  }

  id_table wanted() const {
    auto result = due_of(data, settings.loader.epochs);
    std::erase_if(result,
                  [&](const auto& x) { return x.first >= end || left_out.contains(x.first); });
    return result;
  }

  /// One start in any shape, killed after this many steps.
  training_progress start(std::uint64_t kill_after) {
    auto shape = settings;
    const std::uint64_t worlds[] = {1, 2, 3};
    shape.ranks = shape.loader.world_size = worlds[random() % 3];
    shape.loader.workers = random() % 3;
    training_job job{data, shape};
    try {
      job.run([&](const training_progress& now) {
        REQUIRE(now.global_step <= end);
        if (--kill_after == 0)
          throw killed{};
      });
    } catch (const killed&) {
    }
    return job.progress();
  }
};

TEST_CASE(
    "training job: left out steps, ends and restarts with the same settings give what is due") {
  for (std::uint32_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    random_job x{seed};
    for (auto kills = x.random() % 6; kills > 0; --kills)
      x.start(1 + x.random() % 6);
    const auto expected = x.wanted();
    for (int again = 0; again < 3; ++again) {
      const auto progress = x.start(UINT64_MAX);
      CHECK(progress.epoch * steps_per_epoch + progress.step == x.end);
      CHECK(progress.step < steps_per_epoch);
      REQUIRE(progress.global_step == x.end);
      trained all;
      all.read(x.settings.log);
      REQUIRE(all.steps == expected);
      if (again > 0)
        REQUIRE(all.last_attempt.empty());
      const auto newest = snapshot_store{x.settings.snapshot_dir}.newest();
      REQUIRE(newest);
      REQUIRE(newest.parts.front().global_step == x.end);
    }
  }
}

TEST_CASE("training job: where steps are left out, snapshots are not") {
  random_job x{1};
  x.data = both_kinds().front();
  x.settings.loader.epochs = 1;
  x.settings.loader.steps = UINT64_MAX;
  x.settings.snapshot_every = 2;
  x.settings.left_out = {{1, 1}, {3, 3}, {5, 5}}; // the job never stands behind an even step
  x.start(3);
  const auto newest = snapshot_store{x.settings.snapshot_dir}.newest();
  REQUIRE(newest);
  REQUIRE(newest.parts.front().global_step == 5);
}

TEST_CASE("training job: where ranks agree, the error is that of the rank that failed by itself") {
  training_settings settings;
  settings.ranks = settings.loader.world_size = 2;
  settings.loader.workers = 1;
  settings.loader.fault = drill({.deaths = {{0, 7}, {0, 7}}}); // of rank 1
  training_job job{both_kinds().back(), settings};
  try {
    job.run([](const training_progress&) {});
    FAIL("went on");
  } catch (const error& problem) {
    CHECK(problem.code() == errc::worker_lost);
    CHECK(problem.details().stage == "worker");
    CHECK(problem.details().got == "2 workers that died while they made it");
  }
}

} // namespace
} // namespace leat::command::training_job_test
