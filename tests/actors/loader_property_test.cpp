#include "tests/support/catch.hpp"
#include "tests/support/job.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/leat.hpp>
#include <leat/testing.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <vector>

namespace leat::loader_property_test {
namespace {

/// One random job. Everything that must not matter is drawn again for each of its runs.
struct random_job {
  std::uint64_t records;
  std::uint64_t rows;
  batch_options batching;
  shuffle_options shuffle;
  std::uint64_t epochs;
  bad_sample_policy bad;
  unsigned bad_share;
};

class generator {
public:
  explicit generator(unsigned seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t n) { return random_() % n; }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    return low + below(high - low + 1);
  }

  random_job job() {
    random_job x{};
    x.rows = between(1, 60);
    std::vector<std::uint64_t> divisors;
    for (std::uint64_t l = 1; l <= x.rows; ++l)
      if (x.rows % l == 0)
        divisors.push_back(l);
    x.batching.lanes = below(3) == 0 ? 0 : divisors[below(divisors.size())];
    x.batching.end = below(2) ? epoch_end::mask : epoch_end::drop;
    x.records = x.batching.end == epoch_end::mask ? between(1, 300) : between(x.rows, x.rows + 300);
    const shuffle_kind kinds[] = {shuffle_kind::none, shuffle_kind::full, shuffle_kind::windowed};
    x.shuffle = {.seed = below(1000), .kind = kinds[below(3)], .window = between(1, 5)};
    x.epochs = between(1, 3);
    const bad_sample_policy policies[] = {bad_sample_policy::fail, bad_sample_policy::mask,
                                          bad_sample_policy::substitute};
    x.bad = policies[below(3)];
    x.bad_share = x.bad == bad_sample_policy::fail ? 0 : 7;
    return x;
  }

  loader_options shape(const random_job& job) {
    loader_options x;
    const std::size_t workers[] = {0, 1, 2, 3, 5, 8};
    x.workers = workers[below(6)];
    x.epochs = job.epochs;
    x.prefetch = between(1, 4);
    const dispatch_policy policies[] = {dispatch_policy::on_demand, dispatch_policy::round_robin,
                                        dispatch_policy::by_lane};
    x.dispatch = policies[below(3)];
    x.bad_samples = job.bad;
    x.hash_pixels = true;
    if (x.workers > 0 && below(3) == 0) {
      // Only one: two deaths might be over the same row, which is an error.
      x.fault = drill({.deaths = {{below(x.workers), below(job.records)}}});
    }
    return x;
  }

private:
  std::mt19937 random_;
};

/// Files of uneven length, so that windowed order has something to do.
class uneven : public source {
public:
  explicit uneven(std::uint64_t records) {
    for (std::uint64_t n = 1; records > 0; n = n * 7 % 13 + 1) {
      files_.push_back(std::min(n, records));
      records -= files_.back();
      records_ += files_.back();
    }
  }
  std::uint64_t size() const override { return records_; }
  void read(std::uint64_t record, sample& into) const override { into.set("number", record); }
  std::vector<std::uint64_t> records_per_file() const override { return files_; }
  std::string name() const override { return "uneven"; }

private:
  std::vector<std::uint64_t> files_;
  std::uint64_t records_ = 0;
};

pipeline make(const random_job& job) {
  return indexed("uneven@1", std::make_shared<uneven>(job.records))
      .shuffle(job.shuffle)
      .map("chance@1",
           [share = job.bad_share](sample& s, context& c) {
             const auto number = s.get<std::uint64_t>("number");
             if (share > 0 && number % share == 3)
               throw std::runtime_error("bad by its number");
             s.set("chance", c.rng().bits64());
           })
      .batch(job.rows, job.batching);
}

/// All ranks of one world in lock step.
class world {
public:
  world(const random_job& job, generator& g, std::uint64_t size) {
    const auto data = make(job);
    for (std::uint64_t rank = 0; rank < size; ++rank) {
      auto options = g.shape(job);
      options.rank = rank;
      options.world_size = size;
      ranks_.emplace_back(data, options);
    }
    other_.emplace(data, loader_options{.workers = 0});
  }

  void restore(const std::vector<std::string>& parts) {
    for (auto& x : ranks_)
      x.restore_parts(parts);
  }

  /// The next global batch; empty at the end.
  std::optional<job_step> next() {
    std::vector<job_step> steps;
    std::size_t ended = 0;
    parts.clear();
    for (auto& x : ranks_) {
      if (auto batch = x.next()) {
        append(steps, *batch);
        parts.push_back(batch->snapshot());
        // No other loader takes it for its own, were it one of the same pipeline.
        REQUIRE(code_of([&] { other_->save("/proc/nowhere", *batch); }) == errc::invalid_argument);
      } else {
        ++ended;
      }
    }
    if (ended == ranks_.size())
      return std::nullopt;
    REQUIRE(ended == 0);
    REQUIRE(steps.size() == 1);
    return steps[0];
  }

  std::vector<std::string> parts;

private:
  std::vector<loader> ranks_;
  std::optional<loader> other_;
};

/// The rows of an epoch: none lost, none twice, each in its place; and the number of batches.
void check_epoch(const random_job& job, const std::vector<job_step>& steps) {
  const auto batches = job.batching.end == epoch_end::mask ? (job.records + job.rows - 1) / job.rows
                                                           : job.records / job.rows;
  REQUIRE(steps.size() == batches);
  const auto positions = std::min(job.records, batches * job.rows);
  std::set<std::string> ids;
  std::uint64_t expected = 0;
  for (const auto& step : steps)
    for (const auto& row : step.rows) {
      const bool as_expected =
          job.bad == bad_sample_policy::mask ? row.position >= expected : row.position == expected;
      REQUIRE(as_expected);
      expected = row.position + 1;
      if (job.bad != bad_sample_policy::substitute)
        REQUIRE(ids.insert(row.id).second);
    }
  if (job.bad != bad_sample_policy::mask)
    REQUIRE(expected == positions);
}

TEST_CASE("loader: random jobs, broken and rescaled at random, equal the plain run") {
  const auto first_seed = Catch::rngSeed();
  const int jobs = test::thread_sanitized ? 50 : 150;
  for (int i = 0; i < jobs; ++i) {
    const auto seed = first_seed + static_cast<unsigned>(i);
    CAPTURE(seed);
    generator g{seed};
    auto job = g.job();
    CAPTURE(job.records, job.rows, job.batching.lanes, job.epochs);
    std::vector<job_step> reference;
    try {
      loader plain{
          make(job),
          {.workers = 0, .epochs = job.epochs, .bad_samples = job.bad, .hash_pixels = true}};
      while (auto batch = plain.next())
        append(reference, *batch);
    } catch (const error& e) {
      // A lane may have only bad samples: then there is nothing to substitute.
      REQUIRE(job.bad == bad_sample_policy::substitute);
      REQUIRE(e.code() == errc::bad_sample);
      continue;
    }
    for (std::uint64_t e = 0; e < job.epochs; ++e) {
      std::vector<job_step> epoch;
      std::copy_if(reference.begin(), reference.end(), std::back_inserter(epoch),
                   [&](const auto& x) { return x.epoch == e; });
      check_epoch(job, epoch);
    }
    std::vector<job_step> steps;
    std::vector<std::string> parts;
    for (bool ended = false; !ended;) {
      world w{job, g, g.between(1, 6)};
      if (!parts.empty())
        w.restore(parts);
      for (auto left = g.between(0, 8); left > 0 && !ended; --left) {
        if (auto step = w.next()) {
          steps.push_back(std::move(*step));
          parts = w.parts;
        } else {
          ended = true;
        }
      }
      std::shuffle(parts.begin(), parts.end(), std::mt19937{seed});
    }
    REQUIRE(steps == reference);
  }
}

} // namespace
} // namespace leat::loader_property_test
