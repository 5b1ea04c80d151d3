#include "tests/support/catch.hpp"
#include "tests/support/lease_line.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/stages.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/testing.hpp>

// Everything that may happen to one loader, at the same time: each thing on its own has tests of
// its own, and the thread sanitizer sees how they interact.
namespace leat::all_at_once_test {
namespace {

constexpr std::uint64_t records = 900;

pipeline indexed(const std::string& /*at*/) {
  return with_noise(count(records).shuffle({.seed = 3})).batch(12, {.end = epoch_end::mask});
}

/// An operator probes content, so that workers make rounds for each other.
pipeline by_content(const std::string& /*at*/) {
  const auto keep = probing("keep@1", [](sample& s) { return number_of(s) % 7 != 2; });
  return with_noise(numbers(records).filter(keep).shuffle_buffer(50, 3))
      .batch(12, {.lanes = 4, .end = epoch_end::mask});
}

/// The records exist once: a thread reads them, into a journal.
pipeline live(const std::string& at) {
  return with_noise(numbers_once(records).shuffle_buffer(40, 5))
      .batch(12, {.lanes = 4, .end = epoch_end::mask})
      .journal(at + "/journal");
}

using digests = std::vector<std::string>;

std::string digest_of(const batch& x) {
  return std::to_string(x.step()) + ' ' + to_string(x.digest());
}

using pipeline_maker = pipeline (*)(const std::string& at);

/// What a job without threads gives.
digests plain_run(pipeline_maker make) {
  test::temporary_directory at;
  digests result;
  loader x{make(at.path()), {.workers = 0}};
  while (const auto batch = x.next())
    result.push_back(digest_of(*batch));
  return result;
}

constexpr std::size_t leases = 5;

loader_options dying(dispatch_policy dispatch) {
  loader_options options{.workers = 3, .leases = leases, .keep = 2};
  options.dispatch = dispatch;
  options.fault = drill({.deaths = {{0, 20}, {1, 130}, {2, 131}, {0, 400}, {1, 700}}});
  return options;
}

/// Runs a job to its end: workers die, come and go, snapshots are saved in the background and taken
/// in the thread that reads and drops the leases.
digests stormy_run(loader& x, const std::string& directory) {
  digests got;
  lease_line line{leases};
  std::thread reader{[&] {
    while (auto batch = line.pop()) {
      got.push_back(digest_of(*batch));
      (void)batch->snapshot();
      batch.reset();
      line.dropped();
    }
  }};
  constexpr std::size_t sizes[] = {5, 1, 4, 2, 3};
  for (std::size_t n = 0;; ++n) {
    line.make_room();
    auto batch = x.next();
    const bool ends = !batch;
    if (batch && n % 3 == 1)
      x.save(directory, *batch);
    line.push(std::move(batch));
    if (ends)
      break;
    if (n % 4 == 2)
      x.resize_workers(sizes[n / 4 % 5]);
  }
  reader.join();
  x.wait_saved();
  return got;
}

TEST_CASE("all at once: deaths, resizes, saves and a second thread change no batch") {
  for (const auto& make : {indexed, by_content, live}) {
    const auto expected = plain_run(make);
    REQUIRE(expected.size() > 50);
    for (const auto policy : all_policies) {
      test::temporary_directory at;
      const auto data = make(at.path());
      CAPTURE(to_string(data), static_cast<int>(policy));
      loader x{data, dying(policy)};
      REQUIRE(stormy_run(x, at.path() + "/snapshots") == expected);
    }
  }
}

TEST_CASE("all at once: after a rewind, amid batches that were made ahead, they come again") {
  for (const auto& make : {indexed, by_content}) {
    const auto expected = plain_run(make);
    for (const auto policy : all_policies) {
      test::temporary_directory at;
      const auto data = make(at.path());
      CAPTURE(to_string(data), static_cast<int>(policy));
      loader x{data, dying(policy)};
      for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 10; ++i)
          REQUIRE(digest_of(*x.next()) == expected[static_cast<std::size_t>(i)]);
        x.rewind();
      }
      REQUIRE(stormy_run(x, at.path() + "/snapshots") == expected);
    }
  }
}

TEST_CASE("all at once: a loader is destroyed amid all of it") {
  for (const auto& make : {indexed, by_content, live})
    for (std::size_t n = 0; n < 24; n += 3) {
      test::temporary_directory at;
      std::vector<lease> held;
      std::thread reader;
      {
        loader x{make(at.path()), dying(all_policies[n % 3])};
        for (std::size_t i = 0; i < n; ++i) {
          auto batch = x.next();
          if (i % 3 == 1)
            x.save(at.path() + "/snapshots", *batch);
          if (held.size() < leases - 1)
            held.push_back(std::move(batch));
        }
        x.resize_workers(1 + n % 5);
        reader = std::thread{[&] { held.clear(); }};
      }
      reader.join();
    }
}

} // namespace
} // namespace leat::all_at_once_test
