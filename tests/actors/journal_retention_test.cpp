#include "runtime/pipeline/operator_node.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/stages.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/whole_job.hpp"

// Records that exist once are kept as long as anyone may ask for them, and not longer.
namespace leat::journal_retention_test {
namespace {

constexpr std::uint64_t all_records = 6000;
constexpr std::uint64_t lanes = 12;

/// Records wait in a buffer, before a probe of their content, and in open packs.
pipeline job_of(const pipeline& from) {
  return from.shuffle_buffer(60, 3)
      .filter(probing("odd@1", [](sample& s) { return number_of(s) % 3 != 0; }))
      .shuffle_buffer(36, 4)
      .batch(24, {.lanes = lanes, .end = epoch_end::mask});
}

std::shared_ptr<live_source> feed_of(const pipeline& data) {
  std::shared_ptr<live_source> found;
  for_each_operator(data.root(), [&](const operator_node& x) {
    if (x.feed)
      found = x.feed->get();
  });
  return found;
}

/// Digests of the global batches of a job whose ranks are threads.
std::vector<hash128> digests_of(const pipeline& data, std::size_t workers, std::uint64_t world) {
  all_gather gather{world};
  std::vector<std::vector<hash128>> given(world);
  std::vector<std::thread> ranks;
  for (std::uint64_t rank = 0; rank < world; ++rank)
    ranks.emplace_back([&, rank] {
      loader x{data,
               {.rank = rank, .world_size = world, .workers = workers, .agree = [&](auto& mine) {
                  return gather(rank, mine);
                }}};
      while (auto batch = x.next())
        given[rank].push_back(batch->digest());
    });
  for (auto& x : ranks)
    x.join();
  auto whole = given.front();
  for (std::uint64_t rank = 1; rank < world; ++rank)
    for (std::size_t i = 0; i < whole.size(); ++i)
      whole[i] += given[rank].at(i);
  return whole;
}

/// All steps of the job.
std::vector<job_step> whole_steps() {
  loader whole{job_of(numbers_once(all_records)), {.hash_pixels = true}};
  return next_steps(whole);
}

/// The job with a journal of small files: the same records, whoever opens it.
struct journaled {
  pipeline operator()() const {
    return job_of(numbers_once(all_records, next)).journal(at / "journal", {.file_bytes = 2000});
  }
  test::temporary_directory at;
  std::shared_ptr<std::uint64_t> next = std::make_shared<std::uint64_t>(0);
};

TEST_CASE("journal_retention: memory holds what is still to come, for any number of ranks") {
  std::vector<hash128> expected;
  for (const std::uint64_t world : {1, 3, 12})
    for (const std::size_t workers : {0, 2}) {
      CAPTURE(world, workers);
      const auto data = job_of(numbers_once(all_records));
      const auto feed = feed_of(data);
      const auto digests = digests_of(data, workers, world);
      if (expected.empty())
        expected = digests;
      REQUIRE(expected.size() > 150);
      REQUIRE(digests == expected);
      REQUIRE(code_of([&] { feed->peek(0); }) == errc::not_found);
      REQUIRE(code_of([&] { feed->peek(all_records / 2); }) == errc::not_found);
    }
}

TEST_CASE("journal_retention: a rank that has not begun keeps its records") {
  const auto data = job_of(numbers_once(all_records));
  const auto feed = feed_of(data);
  const auto alone = [](const epoch_agreement& mine) { return std::vector{mine, mine}; };
  loader first{data, {.rank = 0, .world_size = 2, .agree = alone}};
  for (int i = 0; i < 50; ++i)
    REQUIRE(first.next());
  REQUIRE(feed->peek(0) == live_source::state::ready);
  loader second{data, {.rank = 1, .world_size = 2, .agree = alone}};
  for (int i = 0; i < 50; ++i)
    REQUIRE(second.next());
  REQUIRE(code_of([&] { feed->peek(0); }) == errc::not_found);
}

std::size_t files_in(const std::filesystem::path& directory) {
  std::size_t n = 0;
  for (const auto& x : std::filesystem::recursive_directory_iterator{directory})
    n += x.is_regular_file() ? 1 : 0;
  return n;
}

TEST_CASE(
    "journal_retention: a journal holds what kept snapshots need, and the oldest can be restored") {
  const journaled open;
  const auto& at = open.at;
  const auto expected = whole_steps();
  std::size_t most_files = 0;
  {
    const auto data = open();
    loader x{data, {.keep = 2}};
    for (int i = 0; i < 120; ++i) {
      REQUIRE(x.next());
      if (i % 5 == 4)
        x.save(at / "snapshots");
      x.wait_saved();
      most_files = std::max(most_files, files_in(at / "journal"));
    }
    REQUIRE(code_of([&] { feed_of(data)->peek(0); }) == errc::not_found);
  }
  // About 30 records per file, and 4096 are read ahead.
  REQUIRE(files_in(at / "journal") < 170);
  for (const bool newest : {true, false}) {
    const auto step = newest ? "120" : "115";
    CAPTURE(step);
    if (!newest)
      std::filesystem::remove(at / "snapshots/epoch-0-step-120.rank-0-of-1");
    const auto data = open();
    loader x{data, {.hash_pixels = true}};
    REQUIRE(std::to_string(x.restore(at / "snapshots")->step) == step);
    REQUIRE(next_steps(x) == tail_of(expected, std::stoul(step)));
  }
}

/// All steps of the job after a snapshot.
std::vector<job_step> rest_after(const pipeline& data, const std::string& state) {
  loader x{data, {.hash_pixels = true}};
  x.restore_parts({state});
  return next_steps(x);
}

TEST_CASE("journal_retention: what the program keeps can be restored, whatever is saved besides") {
  const journaled open;
  const auto expected = whole_steps();
  std::string lost;
  std::string kept;
  {
    const auto data = open();
    loader x{data, {.keep = 1}};
    for (int i = 1; i <= 120; ++i) {
      const auto batch = x.next();
      REQUIRE(batch);
      if (i == 20)
        lost = batch->snapshot();
      if (i == 40) {
        kept = batch->snapshot();
        x.keep({kept});
      }
      if (i % 5 == 0)
        x.save(open.at / "snapshots");
    }
    x.wait_saved();
  }
  REQUIRE(rest_after(open(), kept) == tail_of(expected, 40));
  // Records that were not kept are refused at once.
  loader refused{open(), {}};
  check_refusal([&] { refused.restore_parts({lost}); }, errc::mismatch, {"released"});
  REQUIRE(code_of([&] { refused.keep({lost}); }) == errc::mismatch);
}

TEST_CASE("journal_retention: letting go trims a journal to the oldest snapshot that is kept") {
  const journaled open;
  const auto data = open();
  std::string first;
  std::string second;
  {
    loader x{data, {}};
    x.keep({x.snapshot()}); // nothing is handed over yet
    const auto beginning = x.snapshot();
    for (int i = 1; i <= 120; ++i) {
      const auto batch = x.next();
      if (i == 40)
        x.keep({first = batch->snapshot()});
      if (i == 80)
        x.keep({second = batch->snapshot()});
    }
    REQUIRE(feed_of(data)->peek(0) == live_source::state::ready);
    x.let_go({second}); // the older ones need all that it needs
    REQUIRE(feed_of(data)->peek(0) == live_source::state::ready);
    x.keep({second});
    x.let_go({beginning});
    REQUIRE(code_of([&] { feed_of(data)->peek(0); }) == errc::not_found);
    x.keep({first}); // it is there still, and now kept twice
    x.let_go({first});
    x.keep({first});
    x.let_go({first});
    x.let_go({first});
    REQUIRE(code_of([&] { x.keep({first}); }) == errc::mismatch);
    // The last one stays valid: the program may be ending.
    x.let_go({second});
    x.keep({second});
  }
  loader x{data, {}};
  REQUIRE(code_of([&] { x.restore_parts({first}); }) == errc::mismatch);
  REQUIRE(x.restore_parts({second}).step == 80);
  REQUIRE(x.next());
}

TEST_CASE("journal_retention: letting go of another pipeline's snapshot is refused") {
  const journaled open;
  loader x{open(), {}};
  loader other{count(600).batch(2), {.workers = 0}};
  std::string kept;
  std::string foreign; // from the same place
  for (int i = 1; i <= 120; ++i) {
    const auto batch = x.next();
    const auto validated = other.next();
    if (i == 40) {
      x.keep({kept = batch->snapshot()});
      foreign = validated->snapshot();
    }
    if (i == 80)
      x.keep({batch->snapshot()});
  }
  REQUIRE(code_of([&] { x.keep({foreign}); }) == errc::mismatch);
  REQUIRE(code_of([&] { x.let_go({foreign}); }) == errc::mismatch);
  x.keep({kept}); // it is there still
  x.let_go({kept});
  x.let_go({kept});
  REQUIRE(code_of([&] { x.keep({kept}); }) == errc::mismatch);
}

/// Snapshots of one of two ranks, after steps 20 and 60. It keeps only the second one.
struct two_snapshots {
  std::string early;
  std::string late;
};

two_snapshots take_two(loader& x) {
  two_snapshots taken;
  for (int i = 1; i <= 120; ++i) {
    const auto batch = x.next();
    if (i == 20)
      x.keep({taken.early = batch->snapshot()});
    if (i == 60)
      x.keep({taken.late = batch->snapshot()});
  }
  x.let_go({taken.early});
  return taken;
}

TEST_CASE(
    "journal_retention: what a rank keeps stays, also what only another rank held till then") {
  const journaled open;
  const auto alone = [](const epoch_agreement& mine) { return std::vector{mine, mine}; };
  two_snapshots of_first;
  two_snapshots of_second;
  {
    const auto data = open();
    loader first{data, {.rank = 0, .world_size = 2, .agree = alone}};
    loader second{data, {.rank = 1, .world_size = 2, .agree = alone}};
    of_first = take_two(first);
    first.keep({of_first.early}); // the second one has not begun
    of_second = take_two(second);
    first.keep({of_first.early});
    second.keep({of_second.early});
  }
  // In one rank: all parts are one snapshot.
  loader x{open(), {}};
  const std::vector early{of_first.early, of_second.early};
  const std::vector late{of_first.late, of_second.late};
  x.restore_parts(late);
  x.keep(late);
  x.keep(early);
  x.keep(early);
  x.let_go(early);
  x.keep(early);
  x.let_go(early);
  x.let_go(early);
  REQUIRE(code_of([&] { x.keep(early); }) == errc::mismatch);
  x.keep(late);
}

TEST_CASE("journal_retention: letting go forgets nothing that the job, or a set on disk, needs") {
  const journaled open;
  const auto& at = open.at;
  std::string early;
  std::string late;
  {
    const auto data = open();
    loader x{data, {}};
    for (int i = 1; i <= 120; ++i) {
      const auto batch = x.next();
      if (i == 20)
        early = batch->snapshot();
      if (i == 30)
        x.save(at / "snapshots");
      if (i == 100)
        late = batch->snapshot();
    }
    x.wait_saved();
  }
  {
    loader x{open(), {}};
    REQUIRE(x.restore(at / "snapshots")->step == 30);
    for (int i = 0; i < 40; ++i)
      REQUIRE(x.next());
    x.keep({early});
    x.keep({late}); // of a run that went further
    x.let_go({early});
    for (int i = 0; i < 40; ++i)
      REQUIRE(x.next());
  }
  loader x{open(), {}};
  REQUIRE(x.restore(at / "snapshots")->step == 30);
  REQUIRE(x.next());
}

TEST_CASE("journal_retention: another journal than that of the snapshot is refused") {
  test::temporary_directory at;
  {
    loader x{job_of(numbers_once(all_records)).journal(at / "journal"), {}};
    for (int i = 0; i < 40; ++i)
      REQUIRE(x.next());
    x.save(at / "snapshots");
  }
  loader x{job_of(numbers_once(all_records)).journal(at / "empty"), {}};
  REQUIRE(code_of([&] { x.restore(at / "snapshots"); }) == errc::mismatch);
}

} // namespace
} // namespace leat::journal_retention_test
