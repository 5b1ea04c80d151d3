// Checks batches on a GPU from C++. Prints a line of JSON for each thing that it checks, and ends
// with 0 if all are good, 1 if one is not, 4 where there is no GPU.
//   device_check contents|digests|times|unpinned... [--batches N] [--rows N] [--seconds S]
//                [--directory DIR] [--refuse-pin]

#include "tests/gpu/contents.hpp"
#include "tests/gpu/driver.hpp"
#include "tests/gpu/report.hpp"
#include "tests/gpu/times.hpp"
#include "tests/gpu/watched_calls.hpp"
#include "tests/support/temporary_directory.hpp"

#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace leat::gpu_check;

constexpr int skipped = 4;

struct arguments {
  std::vector<std::string> parts;
  std::uint64_t batches = 60;
  times_options times;
};

arguments parse(int argc, char** argv) {
  arguments result;
  for (int i = 1; i < argc; ++i) {
    const std::string_view x = argv[i];
    const auto value = [&] {
      if (++i == argc)
        throw std::invalid_argument(std::string{x} + " without a value");
      return std::string{argv[i]};
    };
    if (x == "--batches")
      result.batches = std::stoul(value());
    else if (x == "--rows")
      result.times.rows = std::stoul(value());
    else if (x == "--seconds")
      result.times.seconds = std::stod(value());
    else if (x == "--directory")
      result.times.directory = value();
    else if (x == "--refuse-pin")
      refuse_to_pin();
    else if (x == "contents" || x == "digests" || x == "times" || x == "unpinned")
      result.parts.emplace_back(x);
    else
      throw std::invalid_argument("unknown argument " + std::string{x});
  }
  return result;
}

void run(const std::string& part, const driver& gpu, const arguments& x) {
  if (part == "contents")
    return check_contents(gpu, x.batches);
  if (part == "unpinned")
    return check_unpinned(gpu, x.batches);
  if (part == "times")
    return check_times(gpu, x.times);
  check_digests(x.batches);
  check_refusals();
}

} // namespace

int main(int argc, char** argv) try {
  auto given = parse(argc, argv);
  std::unique_ptr<driver> gpu;
  try {
    gpu = std::make_unique<driver>();
  } catch (const std::exception& e) {
    report_skipped("a GPU", e.what());
    return skipped;
  }
  const leat::test::temporary_directory scratch;
  if (given.times.directory.empty())
    given.times.directory = scratch.path();
  for (const auto& part : given.parts) {
    try {
      run(part, *gpu, given);
    } catch (const std::exception& e) {
      report({.check = part, .wanted = "no error", .found = e.what(), .is_good = false});
    }
  }
  return has_failed() ? 1 : 0;
} catch (const std::exception& e) {
  std::cerr << "device_check: " << e.what() << '\n';
  return 2;
}
