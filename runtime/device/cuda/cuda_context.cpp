#include "runtime/device/cuda/cuda_context.hpp"

#include <leat/error.hpp>

#include <bit>

namespace leat {

void refuse_cuda_fork(const std::string& device) {
  throw error(errc::device,
              {.stage = device,
               .got = "CUDA was started before this process was forked, which ends its use here",
               .needed = "a fork before the first batch on a device and before all other work on "
                         "it, or processes that are not forked (multiprocessing's \"spawn\")"});
}

cuda_context::cuda_context(const cuda_driver& driver, int number)
    : driver_(driver), number_(number) {
  check(driver_.device_get(&device_, number), "cuDeviceGet");
  check(driver_.context.retain(&context_, device_), "cuDevicePrimaryCtxRetain");
}

cuda_context::~cuda_context() {
  if (mark_.is_here())
    driver_.context.release(device_);
}

void cuda_context::check(int code, const char* name) const {
  if (code == cuda_success)
    return;
  if (code == cuda_not_initialized || !mark_.is_here())
    refuse_cuda_fork(this->name());
  const bool no_memory = code == cuda_out_of_memory;
  throw error(no_memory ? errc::no_resources : errc::device,
              {.stage = this->name(),
               .got = text_of_cuda(driver_, code) + " from " + name,
               .needed = no_memory ? "a GPU with free memory, which other processes may hold "
                                     "(nvidia-smi)"
                                   : "a GPU on which no earlier work of this process has failed: "
                                     "CUDA_LAUNCH_BLOCKING=1 shows which did"});
}

cuda_context::current_context::current_context(const cuda_driver& driver, void* context)
    : driver_(driver), code_(driver.context.push(context)) {
  if (code_ == cuda_success)
    driver_.context.exchange_capture_mode(&capture_mode_);
}

cuda_context::current_context::~current_context() {
  if (code_ != cuda_success)
    return;
  driver_.context.exchange_capture_mode(&capture_mode_);
  void* popped = nullptr;
  driver_.context.pop(&popped);
}

unsigned long long cuda_address(const std::byte* x) noexcept {
  return std::bit_cast<unsigned long long>(x);
}

} // namespace leat
