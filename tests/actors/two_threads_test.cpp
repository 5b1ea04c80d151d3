#include "tests/support/catch.hpp"
#include "tests/support/lease_line.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/stages.hpp"

// What loader.hpp allows two threads to do at once: one has the loader, another has its leases.
namespace leat::two_threads_test {
namespace {

constexpr std::array<std::size_t, 2> worker_counts{0, 2};

pipeline with_fields(const pipeline& x) {
  return x.map("fields@1", [](sample& s, context& c) {
    s.set("noise", c.rng().uniform());
    s.set("text", std::string(c.rng().below(20), 'x') + s.id());
  });
}

/// An indexed order, and one of iterators that probe content.
std::vector<pipeline> pipelines() {
  const auto keep = probing("keep@1", [](sample& s) { return number_of(s) % 7 != 2; });
  return {with_fields(numbers(600).shuffle({.seed = 3})).batch(8, {.end = epoch_end::mask}),
          with_fields(numbers(600).filter(keep).shuffle_buffer(50, 3))
              .batch(8, {.lanes = 4, .end = epoch_end::mask})};
}

/// Everything that a batch hands out, as text.
std::string content_of(const batch& x) {
  std::string text = to_string(x.digest());
  for (const auto& id : x.ids())
    text += ' ' + id;
  const auto noise = x.view<double, 1>("noise");
  const auto texts = x.ragged("text");
  for (std::size_t i = 0; i < x.size(); ++i)
    text += ' ' + std::to_string(noise(i)) + std::string{texts.text(i)};
  for (const auto position : x.positions())
    text += ' ' + std::to_string(position);
  return text + ' ' + x.snapshot();
}

using contents = std::vector<std::string>;

contents in_one_thread(const pipeline& data) {
  contents result;
  loader x{data, {.workers = 0}};
  while (const auto batch = x.next())
    result.push_back(content_of(*batch));
  return result;
}

/// Reads the leases of a line and drops them.
contents drop_all(lease_line& line) {
  contents result;
  while (auto x = line.pop()) {
    result.push_back(content_of(*x));
    x.reset();
    line.dropped();
  }
  return result;
}

TEST_CASE("two threads on one loader: one calls next(), the other reads and drops the leases") {
  constexpr std::size_t leases = 6;
  for (const auto& data : pipelines())
    for (const auto workers : worker_counts) {
      CAPTURE(to_string(data), workers);
      const auto expected = in_one_thread(data);
      for (int round = 0; round < (test::sanitized ? 3 : 30); ++round) {
        loader x{data, {.workers = workers, .leases = leases}};
        lease_line line{leases};
        contents got;
        std::thread reader{[&] { got = drop_all(line); }};
        for (bool goes_on = true; goes_on;) {
          line.make_room();
          auto batch = x.next();
          goes_on = static_cast<bool>(batch);
          line.push(std::move(batch));
        }
        reader.join();
        REQUIRE(got == expected);
      }
    }
}

TEST_CASE("two threads on one loader: it grows in one while the other drops leases") {
  constexpr std::size_t leases = 150;
  // Memory that takes a while to make: slots of dropped leases come back in the meantime.
  const auto data = count(4 * leases * 8, 4096).batch(8);
  for (const auto workers : worker_counts)
    for (int round = 0; round < (test::sanitized ? 2 : 5); ++round) {
      CAPTURE(workers, round);
      loader x{data, {.workers = workers, .leases = leases}};
      lease_line line{leases};
      std::vector<std::uint64_t> got;
      std::vector<lease> kept;
      std::thread reader{[&] {
        while (auto batch = line.pop()) {
          got.push_back(batch->step());
          if (got.size() % 2 == 0) { // half of them, so that the loader needs ever more
            kept.push_back(std::move(batch));
          } else {
            batch.reset();
            line.dropped();
          }
        }
      }};
      std::vector<std::uint64_t> expected;
      for (std::uint64_t step = 0; step < 2 * (leases - 1); ++step) {
        line.make_room();
        line.push(x.next());
        expected.push_back(step);
      }
      line.push({});
      reader.join();
      REQUIRE(got == expected);
      for (std::size_t i = 0; i < kept.size(); ++i)
        REQUIRE(kept[i]->step() == 2 * i + 1);
    }
}

TEST_CASE("two threads on one loader: one destroys it while the other reads and drops leases") {
  constexpr std::size_t leases = 4;
  for (const auto& data : pipelines())
    for (const auto workers : worker_counts) {
      CAPTURE(to_string(data), workers);
      auto expected = in_one_thread(data);
      expected.resize(leases);
      for (int round = 0; round < (test::sanitized ? 3 : 30); ++round) {
        lease_line line{leases + 1};
        contents got;
        std::thread reader{[&] { got = drop_all(line); }};
        {
          loader x{data, {.workers = workers, .leases = leases}};
          std::vector<lease> held;
          for (std::size_t i = 0; i < leases; ++i)
            held.push_back(x.next());
          for (auto& batch : held)
            line.push(std::move(batch));
          line.push({});
        }
        reader.join();
        REQUIRE(got == expected);
      }
    }
}

TEST_CASE("two threads on one loader: both read one batch") {
  for (const auto& data : pipelines())
    for (const auto workers : worker_counts) {
      CAPTURE(to_string(data), workers);
      loader x{data, {.workers = workers, .leases = 1}};
      while (const auto batch = x.next()) {
        std::string there;
        std::thread other{[&] { there = content_of(*batch); }};
        const auto here = content_of(*batch);
        other.join();
        REQUIRE(here == there);
      }
    }
}

} // namespace
} // namespace leat::two_threads_test
