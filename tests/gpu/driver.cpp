#include "tests/gpu/driver.hpp"

#include <dlfcn.h>

#include <array>
#include <stdexcept>

namespace leat::gpu_check {

namespace {

/// A thread that looks at the clock until so many nanoseconds are over. The driver compiles it.
constexpr const char* delay_kernel = R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry delay(.param .u64 nanoseconds)
{
  .reg .pred %p;
  .reg .u64 %limit, %begin, %now;
  ld.param.u64 %limit, [nanoseconds];
  mov.u64 %begin, %globaltimer;
again:
  mov.u64 %now, %globaltimer;
  sub.u64 %now, %now, %begin;
  setp.lt.u64 %p, %now, %limit;
  @%p bra again;
  ret;
}
)";

constexpr unsigned not_blocking = 1; // CU_STREAM_NON_BLOCKING
constexpr unsigned not_timed = 2;    // CU_EVENT_DISABLE_TIMING

template <class Call>
void find(void* library, const char* name, Call& result) {
  result = reinterpret_cast<Call>(::dlsym(library, name));
  if (!result)
    throw std::runtime_error(std::string{"the driver has no "} + name);
}

} // namespace

driver::driver() {
  auto* library = ::dlopen("libcuda.so.1", RTLD_NOW);
  if (!library)
    throw std::runtime_error(std::string{"no driver: "} + ::dlerror());
  find(library, "cuInit", calls_.init);
  find(library, "cuDeviceGet", calls_.device);
  find(library, "cuDevicePrimaryCtxRetain", calls_.retain);
  find(library, "cuCtxPushCurrent_v2", calls_.enter);
  find(library, "cuMemHostRegister_v2", calls_.pin);
  find(library, "cuMemHostUnregister", calls_.unpin);
  find(library, "cuStreamCreate", calls_.make_stream);
  find(library, "cuStreamDestroy_v2", calls_.end_stream);
  find(library, "cuStreamSynchronize", calls_.wait_stream);
  find(library, "cuEventCreate", calls_.make_event);
  find(library, "cuEventDestroy_v2", calls_.end_event);
  find(library, "cuEventRecord", calls_.record);
  find(library, "cuStreamWaitEvent", calls_.wait_event);
  find(library, "cuEventSynchronize", calls_.wait_here);
  find(library, "cuMemcpyDtoHAsync_v2", calls_.copy);
  find(library, "cuGetErrorName", calls_.error_name);
  check(calls_.init(0), "cuInit");
  int gpu = 0;
  check(calls_.device(&gpu, 0), "cuDeviceGet");
  check(calls_.retain(&context_, gpu), "cuDevicePrimaryCtxRetain");
  enter();
  load_kernel(library);
}

void driver::load_kernel(void* library) {
  const auto load =
      reinterpret_cast<int (*)(void**, const void*)>(::dlsym(library, "cuModuleLoadData"));
  const auto function = reinterpret_cast<int (*)(void**, void*, const char*)>(
      ::dlsym(library, "cuModuleGetFunction"));
  launch_ = reinterpret_cast<launch_call>(::dlsym(library, "cuLaunchKernel"));
  void* module = nullptr;
  void* kernel = nullptr;
  if (load && function && launch_ && load(&module, delay_kernel) == 0
      && function(&kernel, module, "delay") == 0)
    kernel_ = kernel;
}

void driver::check(int code, const char* call) const {
  if (code == 0)
    return;
  const char* name = nullptr;
  if (calls_.error_name(code, &name) != 0 || !name)
    name = "an unknown error";
  throw std::runtime_error(std::string{call} + ": " + name + " (" + std::to_string(code) + ")");
}

void driver::enter() const {
  check(calls_.enter(context_), "cuCtxPushCurrent_v2");
}

void driver::pin(std::vector<std::byte>& x) const noexcept {
  constexpr unsigned portable = 1; // CU_MEMHOSTREGISTER_PORTABLE
  calls_.pin(x.data(), x.size(), portable);
}

void driver::unpin(std::vector<std::byte>& x) const noexcept {
  calls_.unpin(x.data());
}

driver::stream driver::make_stream() const {
  stream result = nullptr;
  check(calls_.make_stream(&result, not_blocking), "cuStreamCreate");
  return result;
}

void driver::end_stream(stream x) const noexcept {
  calls_.end_stream(x);
}

driver::event driver::make_event() const {
  event result = nullptr;
  check(calls_.make_event(&result, not_timed), "cuEventCreate");
  return result;
}

void driver::end_event(event x) const noexcept {
  calls_.end_event(x);
}

void driver::record(event x, stream in) const {
  check(calls_.record(x, in), "cuEventRecord");
}

void driver::wait(stream waits, event for_event) const {
  check(calls_.wait_event(waits, for_event, 0), "cuStreamWaitEvent");
}

void driver::wait_here(event x) const {
  check(calls_.wait_here(x), "cuEventSynchronize");
}

void driver::finish(stream x) const {
  check(calls_.wait_stream(x), "cuStreamSynchronize");
}

void driver::copy(std::byte* to, const void* from, std::size_t bytes, stream in) const {
  if (bytes > 0)
    check(calls_.copy(to, reinterpret_cast<std::uintptr_t>(from), bytes, in), "cuMemcpyDtoHAsync");
}

void driver::delay(stream in, std::uint64_t nanoseconds) const {
  if (!kernel_ || nanoseconds == 0)
    return;
  std::array<void*, 1> arguments = {&nanoseconds};
  check(launch_(kernel_, 1, 1, 1, 1, 1, 1, 0, in, arguments.data(), nullptr), "cuLaunchKernel");
}

} // namespace leat::gpu_check
