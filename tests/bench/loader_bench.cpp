// The loader itself: trivial and large samples, rounds of iterators, snapshots, traces, time to the
// first batch, restore, resident memory. The decode path against a bare loop: leat bench DATA.

#include "tests/bench/harness.hpp"

#include <leat/leat.hpp>

#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <utility>

namespace leat::bench {

namespace {

struct small_job {
  std::string name;
  pipeline data;
  std::size_t workers;
};

/// Samples per second of one epoch.
bench_case rate_of(const small_job& x) {
  return {x.name, {{x.name, "samples/s"}}, [x] {
            return [x](int) -> std::vector<double> {
              std::uint64_t samples = 0;
              const auto seconds = seconds_of([&] {
                loader from{x.data, {.workers = x.workers}};
                samples = take_all(from);
              });
              return {static_cast<double>(samples) / seconds};
            };
          }};
}

/// Samples per second of a number of batches.
double rate_of_batches(const pipeline& data, std::size_t workers, int batches) {
  std::uint64_t samples = 0;
  const auto seconds = seconds_of([&] {
    loader x{data, {.workers = workers}};
    for (int i = 0; i < batches; ++i)
      samples += x.next()->valid_rows();
  });
  return static_cast<double>(samples) / seconds;
}

/// What a snapshot after every batch adds to the time, in percent: short stretches of batches with
/// and without in turns.
double cost_of_snapshots(const pipeline& data, std::size_t workers, int batches) {
  constexpr int stretch = 50;
  loader x{data, {.workers = workers}};
  double seconds[2] = {0, 0};
  std::size_t bytes = 0;
  for (int i = 0; i < batches; i += stretch) {
    const bool with = i / stretch % 2 == 1;
    seconds[with ? 1 : 0] += seconds_of([&] {
      for (int k = 0; k < stretch; ++k) {
        const auto batch = x.next();
        if (with)
          bytes += batch->snapshot().size();
      }
    });
  }
  if (bytes == 0)
    throw std::logic_error("snapshots without bytes");
  return 100 * (seconds[1] / seconds[0] - 1);
}

/// The same trivial samples through an indexed order, one iterator, and two rounds of iterators.
bench_case rounds_of_iterators(std::size_t workers) {
  const auto where = ", " + std::to_string(workers) + " workers";
  const auto start = [workers] {
    const auto data = count(1'000'000'000);
    const batch_options options{.lanes = 24, .end = epoch_end::drop};
    const auto formula = data.batch(240, options);
    const auto one = data.shuffle_buffer(240).batch(240, options);
    const auto two =
        data.filter(bytes_between("value", 0, UINT64_MAX)).shuffle_buffer(240).batch(240, options);
    return [=](int) -> std::vector<double> {
      const auto of_formula = rate_of_batches(formula, workers, 6000);
      const auto of_one = rate_of_batches(one, workers, 6000);
      const auto of_two = rate_of_batches(two, workers, 6000);
      return {of_formula,
              of_one,
              of_two,
              of_two / of_one,
              of_two / of_formula,
              cost_of_snapshots(two, workers, 12000)};
    };
  };
  return {"rounds of iterators" + where,
          {{"8-byte samples, order by a formula" + where, "samples/s"},
           {"8-byte samples, one round" + where, "samples/s"},
           {"8-byte samples, two rounds" + where, "samples/s"},
           {"two rounds, of one round's rate" + where, ""},
           {"two rounds, of the formula's rate" + where, ""},
           {"a snapshot at every batch of two rounds costs" + where, "%"}},
          start};
}

/// What a trace adds to the time of an epoch, in percent.
bench_case cost_of_trace(const small_job& x, const std::string& folder) {
  const auto name = "a trace costs, " + x.name;
  return {name, {{name, "%"}}, [x, folder] {
            return [x, folder](int number) -> std::vector<double> {
              double seconds[2] = {0, 0};
              for (const int with : {number % 2, 1 - number % 2}) {
                loader_options options{.workers = x.workers};
                if (with == 1)
                  options.trace = std::make_shared<trace>(folder + "/trace");
                seconds[with] = seconds_of([&] {
                  loader from{x.data, options};
                  take_all(from);
                });
              }
              return {100 * (seconds[1] / seconds[0] - 1)};
            };
          }};
}

const loader_options two_epochs{.workers = 2, .epochs = 2};

pipeline many_samples() {
  return count(1'000'000'000).shuffle().batch(256);
}

bench_case first_batch() {
  return {
      "first batch", {{"first batch of 1,000,000,000 samples", "ms"}, {"snapshot", "bytes"}}, [] {
        return [data = many_samples()](int) -> std::vector<double> {
          const auto begin = wall_seconds();
          loader x{data, two_epochs};
          const auto batch = x.next();
          const auto seconds = wall_seconds() - begin;
          return {1e3 * seconds, static_cast<double>(batch->snapshot().size())};
        };
      }};
}

bench_case restore() {
  const auto start = [] {
    // Any position costs the same; a loader without workers makes a snapshot of a late one.
    loader seeker{many_samples(), {.workers = 0, .epochs = 2}};
    std::string state;
    for (int i = 0; i < 1000; ++i)
      state = seeker.next()->snapshot();
    return [state, data = many_samples()](int) -> std::vector<double> {
      const auto begin = wall_seconds();
      loader x{data, two_epochs};
      x.restore_parts({state});
      const auto batch = x.next();
      return {1e3 * (wall_seconds() - begin)};
    };
  };
  return {"restore", {{"restore to first batch, same data", "ms"}}, start};
}

/// Resident memory of this process in MB (10^6 bytes).
double resident_mb() {
  long pages = 0;
  long resident = 0;
  if (auto* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &pages, &resident) != 2)
      resident = 0;
    std::fclose(file);
  }
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1e6;
}

bench_case resident_memory() {
  const std::string name = "resident memory, 8 workers, 4 slots of 1 MB";
  const auto start = [] {
    return [](int) {
      std::vector<double> at_end_of_epoch{resident_mb()};
      loader x{count(200'000, 4096).shuffle().batch(256),
               {.workers = 8, .epochs = 10, .prefetch = 2}};
      while (auto batch = x.next())
        if (batch->end_of_epoch())
          at_end_of_epoch.push_back(resident_mb());
      return std::vector{at_end_of_epoch[0], at_end_of_epoch[1], at_end_of_epoch.back()};
    };
  };
  return {name,
          {{name + ", before", "MB"}, {"  after epoch 1", "MB"}, {"  after epoch 10", "MB"}},
          start,
          1};
}

} // namespace

std::vector<bench_case> loader_cases(const std::string& folder) {
  const auto small = count(4'000'000).shuffle().batch(256);
  const auto large = [](std::uint64_t records) {
    return count(records, 150'528).shuffle().batch(256);
  };
  std::vector<bench_case> all{
      rate_of({"8-byte samples, batch 256, 2 workers", small, 2}),
      rate_of({"8-byte samples, batch 256, caller's thread", small, 0}),
      rate_of({"150,528-byte samples, batch 256, 2 workers", large(100'000), 2}),
      rounds_of_iterators(0), rounds_of_iterators(2)};
  for (const auto& x : {small_job{"8-byte samples, 2 workers", small, 2},
                        small_job{"8-byte samples, caller's thread", small, 0},
                        small_job{"150,528-byte samples, 2 workers", large(50'000), 2},
                        small_job{"samples of some 300 us, 2 workers",
                                  count(10'000).map("work@1", work).batch(64), 2}})
    all.push_back(cost_of_trace(x, folder));
  for (auto&& x : {first_batch(), restore(), resident_memory()})
    all.push_back(x);
  return all;
}

/// next() and one field of batches of one 8-byte row, in the caller's thread: what
/// tests/bench/python compares Python's with.
std::vector<bench_case> next_cases(const std::string& /*folder*/) {
  constexpr int batches = 200'000;
  const auto start = [] {
    const auto from = std::make_shared<loader>(count(std::uint64_t{1} << 40).batch(1),
                                               loader_options{.workers = 0});
    return [from](int) -> std::vector<double> {
      const auto read = [&] {
        for (int i = 0; i < batches; ++i)
          if (!from->next()->field("value").data)
            throw std::logic_error("a batch without its field");
      };
      return {1e6 * seconds_of(read, thread_seconds) / batches};
    };
  };
  return {{"next() and one field", {{"CPU time of next() and one field", "us"}}, start}};
}

} // namespace leat::bench
