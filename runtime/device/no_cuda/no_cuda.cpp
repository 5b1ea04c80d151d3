// Instead of cuda_driver.cpp and cuda_device.cpp where LEAT_CUDA is OFF.

#include "runtime/device/cuda/cuda_device.hpp"

#include <leat/error.hpp>

namespace leat {

namespace {

[[noreturn]] void refuse_cuda() {
  throw error(errc::device, {.stage = "cuda",
                             .got = "leat was built without CUDA (LEAT_CUDA=OFF)",
                             .needed = "a build with LEAT_CUDA=AUTO"});
}

} // namespace

void check_cuda_driver() {
  refuse_cuda();
}

std::shared_ptr<device_calls> open_cuda(int) {
  refuse_cuda();
}

} // namespace leat
