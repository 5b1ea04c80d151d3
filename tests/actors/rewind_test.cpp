#include "tests/support/catch.hpp"
#include "tests/support/ranks.hpp"
#include "tests/support/stages.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/thrown_error.hpp"
#include "tests/support/whole_job.hpp"

#include <leat/testing.hpp>

namespace leat::rewind_test {
namespace {

/// An indexed order.
pipeline by_index() {
  return with_noise(count(100).shuffle({.seed = 3})).batch(12, {.end = epoch_end::mask});
}

/// Its order has a state, and workers probe samples for it.
pipeline by_iterators() {
  const auto most =
      probing("most@1", [](sample& s) { return s.bytes("value")[0] != std::byte{7}; });
  return with_noise(count(100).filter(most).shuffle_buffer(10, 4))
      .batch(12, {.lanes = 4, .end = epoch_end::mask});
}

TEST_CASE("rewind: the same batches come again, from wherever the job stands") {
  for (const auto& data : {by_index(), by_iterators()})
    for (std::size_t workers : {0, 1, 3}) {
      loader x{data, {.workers = workers, .epochs = 2, .hash_pixels = true}};
      x.rewind(); // before the first batch, too
      const auto all = next_steps(x);
      REQUIRE(all.size() > 10);
      const auto digest = x.position().digest;
      for (std::size_t stop : {all.size(), std::size_t{1}, std::size_t{0}, all.size() / 2 + 2,
                               all.size() - 1, all.size()}) {
        CAPTURE(workers, stop);
        x.rewind();
        REQUIRE(x.position().global_step == 0);
        REQUIRE(x.position().digest == hash128{});
        REQUIRE(next_steps(x, stop) == head_of(all, stop));
      }
      REQUIRE_FALSE(x.next());
      x.rewind();
      REQUIRE(next_steps(x) == all);
      REQUIRE(x.position().digest == digest);
      // No worker was replaced, and none was added.
      REQUIRE(x.stats().workers.size() == std::max<std::size_t>(workers, 1));
    }
}

TEST_CASE("rewind: hundreds of times, nothing of one run gets into the next") {
  for (const auto& data : {by_index(), by_iterators()}) {
    loader x{data, {.workers = 2, .hash_pixels = true}};
    const auto all = next_steps(x);
    for (std::size_t i = 0; i < 300; ++i) {
      x.rewind();
      const auto most = i % (all.size() + 2);
      CAPTURE(i, most);
      REQUIRE(next_steps(x, most) == head_of(all, most));
    }
  }
}

TEST_CASE("rewind: every rank of a job, after any batch of an epoch") {
  const auto data = by_index();
  const loader_options options{.workers = 2, .epochs = 2, .hash_pixels = true};
  const auto whole = run_job(data, options, 1);
  std::vector<loader> ranks;
  for (std::uint64_t rank = 0; rank < 3; ++rank) {
    auto mine = options;
    mine.rank = rank;
    mine.world_size = 3;
    ranks.emplace_back(data, mine);
  }
  for (std::size_t stop : {5, 1, 18}) {
    std::vector<job_step> steps;
    for (std::size_t i = 0; i < stop; ++i)
      for (auto& x : ranks)
        append(steps, *x.next());
    CAPTURE(stop);
    REQUIRE(steps == head_of(whole, stop));
    for (auto& x : ranks)
      x.rewind();
  }
}

TEST_CASE("rewind: ranks that agree on ends agree again") {
  // Some of each epoch's 60 samples are below 40: epochs differ in length.
  const auto below =
      probing("below@1", [](sample& s) { return s.bytes("value")[0] < std::byte{40}; });
  const auto data = with_noise(count(100).shuffle({.seed = 3}).take(60).filter(below))
                        .batch(2, {.lanes = 2, .end = epoch_end::mask});
  const loader_options options{.workers = 0, .epochs = 2, .hash_pixels = true};
  const auto whole = global_steps(run_ranks(data, options, 2));
  const auto first =
      std::count_if(whole.begin(), whole.end(), [](auto& x) { return x.epoch == 0; });
  REQUIRE(static_cast<std::size_t>(first) * 2 != whole.size());
  // From the second epoch: what was agreed about it says nothing about the first.
  for (auto stop = static_cast<std::size_t>(first); stop <= whole.size(); ++stop) {
    CAPTURE(stop);
    const auto again = run_ranks(data, options, 2, [&](loader& x) {
      for (std::size_t i = 0; i < stop; ++i)
        x.next();
      x.rewind();
    });
    REQUIRE(global_steps(again) == whole);
  }
}

TEST_CASE("rewind: the log of bad samples has each of them once") {
  const test::temporary_directory at;
  const auto lines = [&] {
    std::ifstream in{at / "bad"};
    return std::string{std::istreambuf_iterator<char>{in}, {}};
  };
  loader x{by_index(),
           {.workers = 1,
            .bad_samples = bad_sample_policy::mask,
            .bad_sample_log = at / "bad",
            .hash_pixels = true,
            .fault = drill({.throw_at = {5, 17}})}};
  next_steps(x);
  const auto whole = lines();
  REQUIRE(std::count(whole.begin(), whole.end(), '\n') == 2);
  x.rewind();
  REQUIRE(lines().empty());
  next_steps(x);
  REQUIRE(lines() == whole);
}

TEST_CASE("rewind: also after a restore and a seek, and with leases out") {
  const auto data = by_iterators();
  const loader_options options{.workers = 2, .epochs = 2, .leases = 3, .hash_pixels = true};
  loader first{data, options};
  const auto all = next_steps(first);
  loader x{data, options};
  first.rewind();
  auto held = first.next();
  const auto held_ids = held->ids();
  x.restore_parts({held->snapshot()});
  REQUIRE(next_steps(x, 1) == std::vector<job_step>{all[1]});
  x.rewind();
  first.rewind();
  REQUIRE(next_steps(x) == all);
  REQUIRE(next_steps(first) == all);
  REQUIRE(held->ids() == held_ids);
  loader sought{data, options};
  sought.seek(1, 1);
  sought.rewind();
  REQUIRE(next_steps(sought) == all);
}

TEST_CASE("rewind: snapshots after it are those of a new loader") {
  const auto data = by_iterators();
  loader once{data, {.workers = 2, .hash_pixels = true}};
  next_steps(once, 3);
  const auto state = once.snapshot();
  loader again{data, {.workers = 2, .hash_pixels = true}};
  next_steps(again, 5);
  again.rewind();
  next_steps(again, 3);
  REQUIRE(again.snapshot() == state);
  loader sought{data, {.workers = 2, .hash_pixels = true}};
  sought.seek(0, 5);
  next_steps(sought, 2);
  sought.rewind();
  next_steps(sought, 3);
  REQUIRE(sought.snapshot() == state);
}

TEST_CASE("rewind: snapshots of batches from before it are what they were") {
  for (const auto& data : {by_index(), by_iterators()}) {
    loader_options options{.workers = 2, .epochs = 2, .leases = 3, .hash_pixels = true};
    loader first{data, options};
    next_steps(first, 2);
    const auto state = first.snapshot();
    options.world_size = 2; // whose sums begin where the one rank's were put together
    options.agree = [](const epoch_agreement& mine) { return std::vector{mine, mine}; };
    loader x{data, options};
    x.restore_parts({state});
    const auto held = x.next();
    const auto before = held->snapshot();
    x.rewind();
    next_steps(x, 1);
    REQUIRE(held->snapshot() == before);
  }
}

TEST_CASE("rewind: what exists once cannot come again, and a failed loader stays failed") {
  loader once{numbers_once(40).batch(4), {.workers = 1}};
  CHECK(code_of([&] { once.rewind(); }) == errc::invalid_argument);
  loader failing{by_index(), {.workers = 1, .fault = drill({.throw_at = {0}})}};
  CHECK(code_of([&] { failing.next(); }) == errc::bad_sample);
  CHECK(code_of([&] { failing.rewind(); }) == errc::bad_sample);
}

TEST_CASE("range-for: every round owns its lease") {
  loader x{by_index(), {.workers = 2, .leases = 1, .hash_pixels = true}};
  const auto all = next_steps(x);
  x.rewind();
  std::vector<job_step> steps;
  for (auto batch : x) // one lease at a time is enough
    append(steps, *batch);
  REQUIRE(steps == all);
  for (auto batch : x)
    FAIL("a batch behind the end");
  // The body of the loop may keep its lease, and the loop may end early.
  loader more{by_index(), {.workers = 2, .leases = 2}};
  lease kept;
  for (auto batch : more) {
    kept = std::move(batch);
    break;
  }
  REQUIRE(kept->step() == 0);
  REQUIRE(more.next()->step() == 1);
  // Taking a reference to a lease that the loader would take back does not compile.
  static_assert(!std::is_lvalue_reference_v<decltype(*more.begin())>);
}

} // namespace
} // namespace leat::rewind_test
