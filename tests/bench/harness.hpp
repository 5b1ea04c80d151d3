#pragma once

#include <leat/loader.hpp>
#include <leat/pipeline.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace leat::bench {

/// One thing that is measured: a round of it gives a number for each column. What is compared is
/// measured in the same round, in turns, because the machine's speed drifts.
struct bench_case {
  struct column {
    std::string name;
    const char* unit;
  };
  using round = std::function<std::vector<double>(int number)>;

  std::string name;
  std::vector<column> columns;
  /// Makes files and whatever else all rounds use, which lasts as long as the result.
  std::function<round()> start;
  int most_rounds = std::numeric_limits<int>::max();
};

// The cases of leat-loader-bench, ...; `folder` is empty, and removed afterwards.
std::vector<bench_case> loader_cases(const std::string& folder);
std::vector<bench_case> next_cases(const std::string& folder);
std::vector<bench_case> operator_cases(const std::string& folder);
std::vector<bench_case> text_cases(const std::string& folder);
std::vector<bench_case> token_cases(const std::string& folder);
std::vector<bench_case> tokenizer_cases(const std::string& folder);
std::vector<bench_case> read_cases(const std::string& folder);
std::vector<bench_case> cluster_cases(const std::string& folder);
std::vector<bench_case> device_cases(const std::string& folder);
std::vector<bench_case> link_cases(const std::string& folder);
std::vector<bench_case> feed_cases(const std::string& folder);

/// Clocks, in seconds: wall-clock time, CPU time of this thread, and of all threads.
using clock_function = double (*)();
double wall_seconds();
double thread_seconds();
double process_seconds();

template <class Work>
double seconds_of(Work work, clock_function now = wall_seconds) {
  const double begin = now();
  work();
  return now() - begin;
}

/// A map of about 300 us per row, like a decoded image.
void work(sample& x, context& in);

/// Takes all batches of a loader; returns the number of samples, which is not 0.
std::uint64_t take_all(loader& from);

/// Gives each line of a file, read in blocks, to `take`. At least 64 bytes after a line can be
/// read.
template <class Take>
void for_each_line(const std::string& path, Take take) {
  constexpr std::size_t padding = 64;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::vector<char> block((std::size_t{1} << 20) + padding);
  std::size_t kept = 0;
  for (;;) {
    const auto n = ::read(file, block.data() + kept, block.size() - padding - kept);
    if (n <= 0)
      break;
    const char* begin = block.data();
    const char* end = begin + kept + static_cast<std::size_t>(n);
    while (const auto* stop = static_cast<const char*>(
               std::memchr(begin, '\n', static_cast<std::size_t>(end - begin)))) {
      take(std::string_view{begin, static_cast<std::size_t>(stop - begin)});
      begin = stop + 1;
    }
    kept = static_cast<std::size_t>(end - begin);
    std::memmove(block.data(), begin, kept);
  }
  ::close(file);
}

} // namespace leat::bench
