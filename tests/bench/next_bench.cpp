// Measures next() and one field of batches of one 8-byte row, in the caller's thread: what
// tests/bench/python compares Python's with. Prints CPU time per batch in microseconds, a line per
// round. Run: build/bin/leat-next-bench [ROUNDS] [BATCHES]

#include <leat/leat.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <stdexcept>

namespace {

double cpu_seconds() {
  timespec x{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &x);
  return static_cast<double>(x.tv_sec) + 1e-9 * static_cast<double>(x.tv_nsec);
}

} // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 7;
  const int batches = argc > 2 ? std::max(1, std::atoi(argv[2])) : 200'000;
  leat::loader loader{leat::count(std::uint64_t{1} << 40).batch(1), {.workers = 0}};
  for (int i = 0; i < rounds; ++i) {
    const double begin = cpu_seconds();
    for (int k = 0; k < batches; ++k)
      if (!loader.next()->field("value").data)
        throw std::logic_error("a batch without its field");
    std::printf("%.6f\n", 1e6 * (cpu_seconds() - begin) / batches);
  }
}
