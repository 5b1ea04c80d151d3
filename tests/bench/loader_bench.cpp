// Measures the loader itself: trivial and large samples, time to the first batch, restore, snapshot
// size, resident memory. Medians and extremes of repeated runs; nothing is asserted.
// Run: build/bin/leat-loader-bench [ROUNDS]
// The decode path against a bare loop: build/bin/leat bench DATA.

#include "tests/bench/measure.hpp"

#include <leat/leat.hpp>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace leat;
using bench::report;
using bench::spread_of;
using bench::stopwatch;

/// Samples per second of one epoch.
double rate(std::uint64_t records, std::size_t bytes, loader_options options,
            std::uint64_t batch_rows) {
  const auto data = count(records, bytes).shuffle().batch(batch_rows);
  stopwatch watch;
  loader x{data, options};
  std::uint64_t samples = 0;
  while (auto batch = x.next())
    samples += batch->valid_rows();
  return static_cast<double>(samples) / watch.seconds();
}

void samples_per_second(int rounds) {
  struct row {
    const char* name;
    std::uint64_t records;
    std::size_t bytes;
    std::size_t workers;
  };
  for (const auto& x : {row{"8-byte samples, batch 256, 2 workers", 4'000'000, 8, 2},
                        row{"8-byte samples, batch 256, caller's thread", 4'000'000, 8, 0},
                        row{"150,528-byte samples, batch 256, 2 workers", 100'000, 150'528, 2}}) {
    std::vector<double> rates;
    for (int i = 0; i < rounds; ++i)
      rates.push_back(rate(x.records, x.bytes, {.workers = x.workers}, 256));
    report(x.name, spread_of(rates), "samples/s");
  }
}

/// Samples per second of a number of batches.
double rate_of_batches(const pipeline& data, std::size_t workers, int batches) {
  stopwatch watch;
  loader x{data, {.workers = workers}};
  std::uint64_t samples = 0;
  for (int i = 0; i < batches; ++i)
    samples += x.next()->valid_rows();
  return static_cast<double>(samples) / watch.seconds();
}

/// What a snapshot after every batch adds to the time, in percent: short stretches of batches with
/// and without in turns, because the machine's speed drifts.
double cost_of_snapshots(const pipeline& data, std::size_t workers, int batches) {
  constexpr int stretch = 50;
  loader x{data, {.workers = workers}};
  double seconds[2] = {0, 0};
  std::size_t bytes = 0;
  for (int i = 0; i < batches; i += stretch) {
    const bool with = i / stretch % 2 == 1;
    stopwatch watch;
    for (int k = 0; k < stretch; ++k) {
      const auto batch = x.next();
      if (with)
        bytes += batch->snapshot().size();
    }
    seconds[with ? 1 : 0] += watch.seconds();
  }
  if (bytes == 0)
    throw std::logic_error("snapshots without bytes");
  return 100 * (seconds[1] / seconds[0] - 1);
}

/// The same trivial samples through an indexed order, one iterator, and two rounds of iterators: in
/// turns, because these machines drift.
void rounds_of_iterators(int rounds) {
  constexpr std::uint64_t records = 1'000'000'000;
  const batch_options options{.lanes = 24, .end = epoch_end::drop};
  const auto formula = count(records).batch(240, options);
  const auto one = count(records).shuffle_buffer(240).batch(240, options);
  const auto two = count(records)
                       .filter(bytes_between("value", 0, UINT64_MAX))
                       .shuffle_buffer(240)
                       .batch(240, options);
  for (const std::size_t workers : {0, 2}) {
    std::vector<double> of_formula;
    std::vector<double> of_one;
    std::vector<double> of_two;
    std::vector<double> ratio;
    std::vector<double> to_formula;
    std::vector<double> cost;
    for (int i = 0; i < rounds; ++i) {
      of_formula.push_back(rate_of_batches(formula, workers, 6000));
      of_one.push_back(rate_of_batches(one, workers, 6000));
      of_two.push_back(rate_of_batches(two, workers, 6000));
      ratio.push_back(of_two.back() / of_one.back());
      to_formula.push_back(of_two.back() / of_formula.back());
      cost.push_back(cost_of_snapshots(two, workers, 12000));
    }
    const auto where = ", " + std::to_string(workers) + " workers";
    report("8-byte samples, order by a formula" + where, spread_of(of_formula), "samples/s");
    report("8-byte samples, one round" + where, spread_of(of_one), "samples/s");
    report("8-byte samples, two rounds" + where, spread_of(of_two), "samples/s");
    report("two rounds, of one round's rate" + where, spread_of(ratio), "");
    report("two rounds, of the formula's rate" + where, spread_of(to_formula), "");
    report("a snapshot at every batch of two rounds costs" + where, spread_of(cost), "%");
  }
}

/// What a trace adds to the time of an epoch, in percent: with and without in turns, because these
/// machines drift.
void cost_of_traces(int rounds) {
  const auto file = (std::filesystem::temp_directory_path() / "leat-loader-bench-trace").string();
  // About 300 us per row, like a decoded image.
  const auto work = [](sample& x, context& in) {
    auto sum = in.rng().uniform();
    for (int i = 0; i < 60'000; ++i)
      sum = std::sqrt(sum + i);
    x.set("sum", sum);
  };
  struct row {
    const char* name;
    pipeline data;
    std::size_t workers;
  };
  const auto small = count(4'000'000).shuffle().batch(256);
  for (const auto& x :
       {row{"8-byte samples, 2 workers", small, 2},
        row{"8-byte samples, caller's thread", small, 0},
        row{"150,528-byte samples, 2 workers", count(50'000, 150'528).shuffle().batch(256), 2},
        row{"samples of some 300 us, 2 workers", count(10'000).map("work@1", work).batch(64), 2}}) {
    std::vector<double> cost;
    for (int i = 0; i < rounds; ++i) {
      double seconds[2] = {0, 0};
      for (const int with : {i % 2, 1 - i % 2}) {
        loader_options options{.workers = x.workers};
        if (with == 1)
          options.trace = std::make_shared<trace>(file);
        stopwatch watch;
        loader job{x.data, options};
        while (job.next())
          ;
        seconds[with] = watch.seconds();
      }
      cost.push_back(100 * (seconds[1] / seconds[0] - 1));
    }
    report(std::string{"a trace costs, "} + x.name, spread_of(cost), "%");
  }
  std::filesystem::remove(file);
}

void first_batch_and_restore(int rounds) {
  const auto data = count(1'000'000'000).shuffle().batch(256);
  std::vector<double> first;
  std::vector<double> restored;
  std::vector<double> bytes;
  loader_options options{.workers = 2, .epochs = 2};
  for (int i = 0; i < rounds; ++i) {
    stopwatch watch;
    loader x{data, options};
    auto batch = x.next();
    first.push_back(watch.seconds() * 1e3);
    bytes.push_back(static_cast<double>(batch->snapshot().size()));
  }
  // Any position costs the same; a loader without workers makes a snapshot of a late one.
  loader seeker{data, {.workers = 0, .epochs = 2}};
  std::string state;
  for (int i = 0; i < 1000; ++i)
    state = seeker.next()->snapshot();
  for (int i = 0; i < rounds; ++i) {
    stopwatch watch;
    loader x{data, options};
    x.restore_parts({state});
    auto batch = x.next();
    restored.push_back(watch.seconds() * 1e3);
  }
  report("first batch of 1,000,000,000 samples", spread_of(first), "ms");
  report("restore to first batch, same data", spread_of(restored), "ms");
  report("snapshot", spread_of(bytes), "bytes");
}

void resident_memory() {
  const double before = bench::resident_mb();
  const auto data = count(200'000, 4096).shuffle().batch(256);
  loader x{data, {.workers = 8, .epochs = 10, .prefetch = 2}};
  std::vector<double> at_end_of_epoch;
  while (auto batch = x.next())
    if (batch->end_of_epoch())
      at_end_of_epoch.push_back(bench::resident_mb());
  std::printf("%-58s %12.1f  after epoch 1, %.1f after epoch 10 (%.1f before) MB\n",
              "resident memory, 8 workers, 4 slots of 1 MB", at_end_of_epoch.front(),
              at_end_of_epoch.back(), before);
}

} // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 7;
  samples_per_second(rounds);
  rounds_of_iterators(rounds);
  cost_of_traces(rounds);
  first_batch_and_restore(rounds);
  resident_memory();
}
