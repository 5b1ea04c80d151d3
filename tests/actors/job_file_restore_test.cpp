#include "runtime/snapshot/job_file_writer.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/stages.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/whole_job.hpp"

namespace leat::job_file_restore_test {

using test::temporary_directory;

namespace {

pipeline indexed_job() {
  return with_noise(count(1000).shuffle({.seed = 3})).batch(48, {.lanes = 24});
}

/// A round below the last, buffers in each lane, and an end that the ranks have to agree about.
pipeline iterated_job() {
  const auto data = count(6000).filter(key_hash(80)).shuffle_buffer(64, 1);
  return with_noise(data.filter(field_hash("value", 50)))
      .batch(48, {.lanes = 24, .end = epoch_end::mask});
}

const loader_options two_epochs{.workers = 0, .epochs = 2, .hash_pixels = true};

/// Writes the parts of all ranks as they come in, which is in no order.
std::string write_file(const std::string& directory, std::vector<std::string> parts,
                       unsigned seed) {
  const auto facts = inspect_snapshot(parts);
  job_file_writer writer{directory, {facts.epoch, facts.step}, facts.world_size};
  std::vector<std::uint64_t> order(parts.size());
  for (std::uint64_t rank = 0; rank < order.size(); ++rank)
    order[rank] = rank;
  std::shuffle(order.begin(), order.end(), std::mt19937{seed});
  for (const auto rank : order)
    writer.add(rank, parts[rank]);
  writer.finish(3);
  return directory + "/epoch-" + std::to_string(facts.epoch) + "-step-" + std::to_string(facts.step)
         + ".of-" + std::to_string(facts.world_size);
}

hash128 digest_of(const std::vector<job_step>& steps) {
  hash128 sum;
  for (const auto& x : steps)
    sum += x.digest;
  return sum;
}

/// 8 ranks, then 6, 3 and 8 again: after each so many steps the job goes on from one file.
void check_regrouped(const pipeline& data, std::size_t steps) {
  CAPTURE(steps);
  const auto due = global_steps(run_ranks(data, two_epochs, 1));
  REQUIRE(due.size() > 3 * steps);
  const temporary_directory at;
  std::string file;
  std::size_t done = 0;
  for (const std::uint64_t world_size : {8, 6, 3, 8}) {
    CAPTURE(world_size);
    const auto begin = [&](loader& x) {
      if (!file.empty())
        REQUIRE(x.restore(world_size == 3 ? at.path() : file)->global_step == done);
    };
    const auto is_last = done == 3 * steps;
    const auto runs = run_ranks(data, two_epochs, world_size, begin, is_last ? due.size() : steps);
    const auto got = global_steps(runs);
    REQUIRE(got == head_of(tail_of(due, done), is_last ? due.size() : steps));
    done += got.size();
    file = write_file(at.path(), parts_after(runs, got.size() - 1), static_cast<unsigned>(done));
    const auto facts = read_snapshot(file);
    REQUIRE(facts.parts == world_size);
    REQUIRE(facts.in_one_file);
    REQUIRE(facts.digest == digest_of(head_of(due, done)));
    REQUIRE_FALSE(facts.partial);
  }
  REQUIRE(done == due.size());
}

} // namespace

TEST_CASE("an indexed job goes on from one file on any number of ranks") {
  for (const std::size_t steps : {1, 4, 7, 10}) // 20 steps in an epoch
    check_regrouped(indexed_job(), steps);
}

TEST_CASE("a job with states goes on from one file on any number of ranks") {
  for (const std::size_t steps : {1, 5, 14, 30}) // a lane has a base after 64 items, 32 steps
    check_regrouped(iterated_job(), steps);
}

TEST_CASE("the file after the last batch of an epoch begins the next one") {
  const auto due = global_steps(run_ranks(iterated_job(), two_epochs, 1));
  const auto epoch = static_cast<std::size_t>(
      std::count_if(due.begin(), due.end(), [](const job_step& x) { return x.epoch == 0; }));
  const temporary_directory at;
  const auto runs = run_ranks(iterated_job(), two_epochs, 8, {}, epoch);
  const auto file = write_file(at.path(), parts_after(runs, epoch - 1), 1);
  CHECK(file == at / "epoch-1-step-0.of-8");
  const auto rest = run_ranks(iterated_job(), two_epochs, 3, [&](loader& x) { x.restore(file); });
  CHECK(global_steps(rest) == tail_of(due, epoch));
}

TEST_CASE("facts of one file are those of its parts, and its parts are those of the newest set") {
  const temporary_directory at;
  const auto runs = run_ranks(iterated_job(), two_epochs, 6, {}, 40);
  const auto parts = parts_after(runs, 39);
  const auto file = write_file(at.path(), parts, 2);
  const auto facts = read_snapshot(file);
  const auto given = inspect_snapshot(parts);
  CHECK(facts.state == given.state);
  CHECK(facts.state.bytes > 0);
  CHECK(facts.samples == given.samples);
  CHECK(facts.epoch_digest == given.epoch_digest);
  CHECK(facts.world_size == 6);
  CHECK(facts.largest_part == given.largest_part);
  std::size_t largest = 0;
  for (const auto& x : parts)
    largest = std::max(largest, x.size());
  CHECK(facts.largest_part == largest);
  CHECK_FALSE(given.in_one_file);
  CHECK(read_snapshot(at.path()).in_one_file);
  CHECK(newest_snapshot(at.path()).parts == parts);
}

TEST_CASE("a job that saves beside one file leaves it until it is old, and then removes it") {
  const temporary_directory at;
  const auto runs = run_ranks(indexed_job(), two_epochs, 2, {}, 3);
  write_file(at.path(), parts_after(runs, 2), 3);
  auto options = two_epochs;
  options.keep = 2;
  loader x{indexed_job(), options};
  REQUIRE(x.restore(at.path())->step == 3);
  for (std::uint64_t step = 4; step <= 5; ++step) {
    REQUIRE(x.next());
    x.save(at.path());
    x.wait_saved();
    CHECK(std::filesystem::exists(at / "epoch-0-step-3.of-2") == (step == 4));
    CHECK(read_snapshot(at.path()).step == step);
  }
}

TEST_CASE("a loader that is given a file to restore from says what is wrong with it") {
  const temporary_directory at;
  auto runs = run_ranks(indexed_job(), two_epochs, 2, {}, 3);
  const auto file = write_file(at.path(), parts_after(runs, 2), 3);
  loader x{indexed_job(), two_epochs};
  SECTION("one that is not there") {
    CHECK(code_of([&] { x.restore(at / "epoch-0-step-9.of-2"); }) == errc::not_found);
  }
  SECTION("one rank's part") {
    std::ofstream{at / "epoch-0-step-3.rank-0-of-2"} << parts_after(runs, 2)[0];
    const auto problem =
        check_refusal([&] { x.restore(at / "epoch-0-step-3.rank-0-of-2"); }, errc::bad_snapshot);
    CHECK(problem.details().got == "the part of one rank");
    CHECK(read_snapshot(at / "epoch-0-step-3.rank-0-of-2").parts == 1);
  }
  SECTION("a torn one") {
    std::filesystem::resize_file(file, std::filesystem::file_size(file) - 1);
    CHECK(check_refusal([&] { x.restore(file); }, errc::bad_snapshot).details().file == file);
    CHECK(code_of([&] { x.restore(file, {.allow_older = true}); }) == errc::bad_snapshot);
    CHECK(code_of([&] { read_snapshot(file); }) == errc::bad_snapshot);
    CHECK(code_of([&] { x.restore(at.path()); }) == errc::bad_snapshot);
  }
  SECTION("one of another pipeline") {
    loader other{count(1000).shuffle({.seed = 4}).batch(48, {.lanes = 24}), two_epochs};
    CHECK(code_of([&] { other.restore(file); }) == errc::mismatch);
  }
  REQUIRE(x.next()); // from the beginning, as if nothing had been tried
  CHECK(x.position().global_step == 1);
}

} // namespace leat::job_file_restore_test
