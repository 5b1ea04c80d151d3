// What being in a cluster costs a rank: the same loader with and without one, in short stretches of
// batches in turns, because the machine's speed drifts. Prints the rate in a cluster relative to
// the rate without, a pair per stretch: median and extremes over rounds of the ratio of their sums.
// Two ranks run as two processes on the same machine. Nothing is asserted.
// Run: build/bin/leat-cluster-bench [ROUNDS]

#include "tests/bench/measure.hpp"

#include <leat/leat.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace leat;
using bench::report;
using bench::spread_of;
using bench::stopwatch;

struct job {
  const char* name;
  pipeline data;
  std::size_t workers;
  /// Of a stretch: many times what workers have made ahead at its beginning.
  int batches;
};

std::vector<job> jobs() {
  constexpr std::uint64_t endless = 1'000'000'000'000;
  const auto work = [](sample& x, context& in) {
    auto sum = in.rng().uniform();
    for (int i = 0; i < 60'000; ++i)
      sum = std::sqrt(sum + i);
    x.set("sum", sum);
  };
  const batch_options lanes{.lanes = 8, .end = epoch_end::drop};
  return {
      {"8-byte samples, a row each, caller's thread", count(endless).shuffle().batch(2), 0,
       100'000},
      {"8-byte samples, batch 256, 2 workers", count(endless).shuffle().batch(256), 2, 5'000},
      {"samples of some 300 us, batch 16, 2 workers", count(endless).map("work@1", work).batch(16),
       2, 100},
      {"filter and shuffle buffer, epochs of 100,000 samples, 2 workers",
       count(100'000).filter(key_hash(80, 1)).shuffle_buffer(256).batch(64, lanes), 2, 10'000},
  };
}

void take(loader& from, int batches) {
  for (int i = 0; i < batches; ++i)
    if (!from.next())
      throw std::logic_error("a job that ends");
}

/// Rate in a cluster, of the rate without, in each round.
std::vector<double> measure(const job& x, loader& alone, loader& in_cluster, int rounds) {
  constexpr int pairs = 4;
  take(alone, x.batches); // both have all threads and buffers then
  take(in_cluster, x.batches);
  std::vector<double> ratios;
  for (int i = 0; i < rounds; ++i) {
    double seconds[2] = {0, 0};
    for (int k = 0; k < pairs; ++k)
      for (const int which : {k % 2, 1 - k % 2}) {
        stopwatch watch;
        take(which == 0 ? alone : in_cluster, x.batches);
        seconds[which] += watch.seconds();
      }
    ratios.push_back(seconds[0] / seconds[1]);
  }
  return ratios;
}

/// A process of its own. The first rank reports, and goes without a word, as all others are killed
/// then: nobody is to notice in a measurement that a job without an end has lost a rank.
[[noreturn]] void be_rank(const job& x, std::uint64_t rank, std::uint64_t world_size, int rounds,
                          const std::string& state) {
  try {
    loader_options options{.rank = rank,
                           .world_size = world_size,
                           .workers = x.workers,
                           .epochs = std::numeric_limits<std::uint32_t>::max()};
    loader alone{x.data, options};
    options.cluster = cluster{.address = "127.0.0.1:0",
                              .state_directory = state,
                              .token = "secret",
                              .join_within = std::chrono::minutes{1}};
    loader in_cluster{x.data, options};
    in_cluster.join();
    do {
      const auto ratios = measure(x, alone, in_cluster, rounds);
      if (rank == 0)
        report(x.name + (", ranks: " + std::to_string(world_size)), spread_of(ratios),
               "of the rate without a cluster");
    } while (rank != 0);
    ::_exit(0);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "rank %d: %s\n", static_cast<int>(rank), problem.what());
  }
  ::_exit(1);
}

void measure_in_processes(const job& x, std::uint64_t world_size, int rounds) {
  auto place = (std::filesystem::temp_directory_path() / "leat-cluster-bench-XXXXXX").string();
  if (!::mkdtemp(place.data()))
    throw std::runtime_error("no temporary directory");
  std::vector<pid_t> ranks;
  for (std::uint64_t rank = 0; rank < world_size; ++rank) {
    ranks.push_back(::fork()); // before this process has any thread
    if (ranks.back() == 0)
      be_rank(x, rank, world_size, rounds, place + "/state");
  }
  int status = 0;
  (void)::waitpid(ranks.front(), &status, 0);
  for (std::size_t i = 1; i < ranks.size(); ++i) {
    (void)::kill(ranks[i], SIGKILL);
    (void)::waitpid(ranks[i], nullptr, 0);
  }
  std::filesystem::remove_all(place);
  if (status != 0)
    throw std::runtime_error("the first rank has failed");
}

} // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 7;
  for (const auto& x : jobs())
    measure_in_processes(x, 1, rounds);
  measure_in_processes(jobs().front(), 2, rounds); // each rank has a core of its own
}
