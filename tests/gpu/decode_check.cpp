// Checks decoding on a GPU from C++. Prints a line of JSON for each thing that it checks, and ends
// with 0 if all are good, 1 if one is not, 4 where there is no GPU.
//   decode_check kernels...

#include "runtime/device/cuda/cuda_device.hpp"
#include "runtime/device/device_kernels.hpp"
#include "runtime/image/device/kernel_launch.hpp"
#include "tests/gpu/report.hpp"

#include <chrono>
#include <exception>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace {

using namespace leat;
using namespace leat::gpu_check;

constexpr int skipped = 4;

/// The driver takes libleat_cuda.so, and has all kernels that leat launches.
void check_kernels(device_calls& gpu) {
  const auto begin = std::chrono::steady_clock::now();
  auto& kernels = gpu.kernels();
  for (std::size_t i = 0; i < num_kernels; ++i)
    kernels.find(name_of(static_cast<kernel>(i)));
  const auto took = std::chrono::steady_clock::now() - begin;
  report({.check = "kernels that decode",
          .wanted = "all of them",
          .found = std::to_string(num_kernels) + ", loaded in "
                   + number(std::chrono::duration<double, std::milli>{took}.count()) + " ms",
          .is_good = true});
}

void run(std::string_view part, device_calls& gpu) {
  if (part == "kernels")
    return check_kernels(gpu);
  throw std::invalid_argument("unknown part");
}

} // namespace

int main(int argc, char** argv) {
  std::shared_ptr<device_calls> gpu;
  try {
    gpu = open_cuda(0);
  } catch (const std::exception& e) {
    report_skipped("a GPU", e.what());
    return skipped;
  }
  for (int i = 1; i < argc; ++i) {
    try {
      run(argv[i], *gpu);
    } catch (const std::exception& e) {
      report({.check = argv[i], .wanted = "no error", .found = e.what(), .is_good = false});
    }
  }
  return has_failed() ? 1 : 0;
}
