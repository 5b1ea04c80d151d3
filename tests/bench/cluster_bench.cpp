// What being in a cluster costs a rank: the same loader with and without one, in short stretches of
// batches in turns. A round gives the rate in a cluster relative to the rate without: the ratio of
// the sums over some stretches. Two ranks run as two processes on the same machine.

#include "tests/bench/harness.hpp"

#include <leat/leat.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace leat::bench {

namespace {

struct job {
  const char* name;
  pipeline data;
  std::size_t workers;
  /// Of a stretch: many times what workers have made ahead at its beginning.
  int batches;
};

std::vector<job> jobs() {
  constexpr std::uint64_t endless = 1'000'000'000'000;
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

/// Rate in a cluster, of the rate without.
double measure(const job& x, loader& alone, loader& in_cluster) {
  constexpr int pairs = 4;
  double seconds[2] = {0, 0};
  for (int k = 0; k < pairs; ++k)
    for (const int which : {k % 2, 1 - k % 2})
      seconds[which] += seconds_of([&] { take(which == 0 ? alone : in_cluster, x.batches); });
  return seconds[0] / seconds[1];
}

/// A process of its own, until it is killed. The first rank writes what it measures.
[[noreturn]] void be_rank(const job& x, std::uint64_t rank, std::uint64_t world_size, int to,
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
    take(alone, x.batches); // both have all threads and buffers then
    take(in_cluster, x.batches);
    for (;;) {
      const auto ratio = measure(x, alone, in_cluster);
      if (rank == 0 && ::write(to, &ratio, sizeof ratio) != sizeof ratio)
        break;
    }
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "rank %d: %s\n", static_cast<int>(rank), problem.what());
  }
  ::_exit(1);
}

/// The processes of a job. They are killed: nobody is to notice in a measurement that a job without
/// an end has lost a rank.
class ranks {
public:
  ranks(const job& x, std::uint64_t world_size, const std::string& state) {
    if (::pipe(pipe_) != 0)
      throw std::runtime_error("no pipe");
    for (std::uint64_t rank = 0; rank < world_size; ++rank) {
      processes_.push_back(::fork()); // before this process has any thread
      if (processes_.back() == 0)
        be_rank(x, rank, world_size, pipe_[1], state);
    }
    ::close(pipe_[1]);
  }
  ~ranks() {
    for (const auto process : processes_) {
      (void)::kill(process, SIGKILL);
      (void)::waitpid(process, nullptr, 0);
    }
    ::close(pipe_[0]);
  }
  ranks(const ranks&) = delete;
  ranks& operator=(const ranks&) = delete;

  double next_ratio() const {
    double ratio = 0;
    if (::read(pipe_[0], &ratio, sizeof ratio) != sizeof ratio)
      throw std::runtime_error("the first rank has failed");
    return ratio;
  }

private:
  int pipe_[2] = {-1, -1};
  std::vector<pid_t> processes_;
};

bench_case in_processes(const job& x, std::uint64_t world_size, const std::string& state) {
  const auto name = x.name + (", ranks: " + std::to_string(world_size));
  return {name, {{name, "of the rate without a cluster"}}, [=] {
            const auto all = std::make_shared<ranks>(x, world_size, state);
            return [all](int) -> std::vector<double> { return {all->next_ratio()}; };
          }};
}

} // namespace

std::vector<bench_case> cluster_cases(const std::string& folder) {
  std::vector<bench_case> all;
  for (const auto& x : jobs())
    all.push_back(in_processes(x, 1, folder + "/state-" + std::to_string(all.size())));
  all.push_back(in_processes(jobs().front(), 2, folder + "/state-2-ranks")); // a core each
  return all;
}

} // namespace leat::bench
