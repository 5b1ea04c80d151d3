#include "tests/bench/link/forked_part.hpp"

#include <malloc.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>

namespace leat::bench {

namespace {

struct two_ends {
  two_ends() {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
      throw std::runtime_error("no pair of sockets");
  }
  std::array<int, 2> ends{};
};

/// In a process of its own: measures, tells what, and ends without destructors, which CAF's systems
/// would hang in.
[[noreturn]] void be_part(const forked_part& part, int other, int parent) {
  // Large rows shall cost what they cost, and not what the kernel takes for fresh pages.
  ::mallopt(M_MMAP_THRESHOLD, 512 << 20);
  ::mallopt(M_TRIM_THRESHOLD, 512 << 20);
  ::mallopt(M_ARENA_MAX, 4);
  try {
    const auto found = part(part_line{other});
    const auto size = found.size() * sizeof(double);
    if (::write(parent, found.data(), size) == static_cast<ssize_t>(size))
      ::_exit(0);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "link bench: %s\n", problem.what());
  }
  ::_exit(1);
}

std::vector<double> result_of(int descriptor) {
  pollfd x{descriptor, POLLIN, 0};
  std::array<double, 32> all{};
  const auto n = ::poll(&x, 1, 120'000) == 1 ? ::read(descriptor, all.data(), sizeof all) : -1;
  if (n < 0 || n % static_cast<ssize_t>(sizeof(double)) != 0)
    throw std::runtime_error("no result of a process");
  return {all.begin(), all.begin() + n / static_cast<ssize_t>(sizeof(double))};
}

} // namespace

void part_line::say(std::uint64_t x) const {
  if (::send(descriptor_, &x, sizeof x, MSG_NOSIGNAL) != sizeof x)
    throw std::runtime_error("the other process has ended");
}

std::uint64_t part_line::hear() const {
  std::uint64_t x = 0;
  if (::recv(descriptor_, &x, sizeof x, MSG_WAITALL) != sizeof x)
    throw std::runtime_error("the other process has ended");
  return x;
}

std::vector<std::vector<double>> run_parts(const forked_part& a, const forked_part& b) {
  std::fflush(stdout);
  const two_ends line;
  std::array<two_ends, 2> results;
  std::array<pid_t, 2> processes{};
  for (std::size_t i = 0; i < 2; ++i) {
    processes[i] = ::fork();
    if (processes[i] != 0)
      continue;
    for (const auto& x : results)
      ::close(x.ends[0]);
    ::close(line.ends[1 - i]);
    be_part(i == 0 ? a : b, line.ends[i], results[i].ends[1]);
  }
  for (const int x : line.ends)
    ::close(x);
  for (const auto& x : results)
    ::close(x.ends[1]);
  std::vector<std::vector<double>> found;
  std::string problem;
  for (const auto& x : results)
    try {
      found.push_back(result_of(x.ends[0]));
      if (found.back().empty())
        problem = "a process has failed";
    } catch (const std::exception& what) {
      problem = what.what();
    }
  for (std::size_t i = 0; i < 2; ++i) {
    (void)::kill(processes[i], SIGKILL);
    (void)::waitpid(processes[i], nullptr, 0);
    ::close(results[i].ends[0]);
  }
  if (!problem.empty())
    throw std::runtime_error(problem);
  return found;
}

double resident_bytes() {
  std::ifstream file{"/proc/self/statm"};
  double pages = 0;
  file >> pages >> pages;
  return pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

double peak_bytes() {
  rusage x{};
  ::getrusage(RUSAGE_SELF, &x);
  return static_cast<double>(x.ru_maxrss) * 1024;
}

} // namespace leat::bench
