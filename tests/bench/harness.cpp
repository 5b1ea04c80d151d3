// Measures leat: one program, whose cases are chosen by the name that it is called by. Prints
// medians and extremes; nothing is asserted.
// Run: build/bin/leat-loader-bench [ROUNDS [NAME]], leat-text-bench, ...: NAME is part of the names
// of the cases that are wanted.

#include "tests/bench/harness.hpp"

#include "tests/support/temporary_directory.hpp"

#include "tools/leat/bench/spread.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <stdexcept>

namespace leat::bench {

namespace {

struct suite {
  std::string_view name;
  int rounds;
  std::vector<bench_case> (*cases)(const std::string& folder);
};

constexpr suite suites[] = {
    {"leat-loader-bench", 7, loader_cases},     {"leat-next-bench", 7, next_cases},
    {"leat-operator-bench", 3, operator_cases}, {"leat-text-bench", 5, text_cases},
    {"leat-token-bench", 9, token_cases},       {"leat-tokenizer-bench", 7, tokenizer_cases},
    {"leat-read-bench", 9, read_cases},         {"leat-cluster-bench", 7, cluster_cases},
    {"leat-device-bench", 9, device_cases},     {"leat-link-bench", 5, link_cases},
    {"leat-feed-bench", 5, feed_cases}};

double seconds_on(clockid_t clock) {
  timespec x{};
  ::clock_gettime(clock, &x);
  return static_cast<double>(x.tv_sec) + 1e-9 * static_cast<double>(x.tv_nsec);
}

void measure(const bench_case& x, int rounds) {
  const auto round = x.start();
  std::vector<command::series> found(x.columns.size());
  for (int i = 0; i < std::min(rounds, x.most_rounds); ++i) {
    const auto values = round(i);
    for (std::size_t k = 0; k < found.size(); ++k)
      found[k].push_back(values.at(k));
  }
  for (std::size_t k = 0; k < found.size(); ++k) {
    const auto all = command::spread_of(found[k]);
    std::printf("%-58s %12.4g  (%.4g .. %.4g) %s\n", x.columns[k].name.c_str(), all.median, all.low,
                all.high, x.columns[k].unit);
  }
  std::fflush(stdout);
}

int main_of(int argc, char** argv) {
  const auto name = std::filesystem::path{argv[0]}.filename().string();
  const auto* const found = std::find_if(std::begin(suites), std::end(suites),
                                         [&](const auto& x) { return x.name == name; });
  if (found == std::end(suites)) {
    std::fprintf(stderr, "%s: what it measures depends on its name:", name.c_str());
    for (const auto& x : suites)
      std::fprintf(stderr, " %s", x.name.data());
    std::fprintf(stderr, "\n");
    return 2;
  }
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : found->rounds;
  const std::string wanted = argc > 2 ? argv[2] : "";
  const test::temporary_directory folder;
  for (const auto& x : found->cases(folder.path()))
    if (x.name.find(wanted) != std::string::npos)
      measure(x, rounds);
  return 0;
}

} // namespace

double wall_seconds() {
  return seconds_on(CLOCK_MONOTONIC);
}

double thread_seconds() {
  return seconds_on(CLOCK_THREAD_CPUTIME_ID);
}

double process_seconds() {
  return seconds_on(CLOCK_PROCESS_CPUTIME_ID);
}

void work(sample& x, context& in) {
  auto sum = in.rng().uniform();
  for (int i = 0; i < 60'000; ++i)
    sum = std::sqrt(sum + i);
  x.set("sum", sum);
}

std::uint64_t take_all(loader& from) {
  std::uint64_t samples = 0;
  while (auto batch = from.next())
    samples += batch->valid_rows();
  if (samples == 0)
    throw std::logic_error("no rows");
  return samples;
}

} // namespace leat::bench

int main(int argc, char** argv) {
  return leat::bench::main_of(argc, argv);
}
