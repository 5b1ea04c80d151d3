#include "runtime/device/cuda/cuda_driver.hpp"

#include <leat/error.hpp>

#include <dlfcn.h>

namespace leat {

namespace {

constexpr const char* library_name = "libcuda.so.1";
/// Has all that is needed here.
constexpr int oldest_version = 11000;

[[noreturn]] void refuse_driver(std::string got, const std::string& more = {}) {
  throw error(errc::device, {.stage = "cuda",
                             .got = std::move(got),
                             .needed = "NVIDIA's driver for CUDA "
                                       + cuda_version_text(oldest_version) + " or newer" + more});
}

class driver_library {
public:
  driver_library() : handle_(::dlopen(library_name, RTLD_NOW | RTLD_LOCAL)) {
    if (handle_)
      return;
    const char* why = ::dlerror();
    refuse_driver("no driver for CUDA here (" + std::string{why ? why : library_name} + ")",
                  ", which a container has to be given, too");
  }

  template <class Function>
  bool find(Function*& to, const char* name) const {
    to = reinterpret_cast<Function*>(::dlsym(handle_, name));
    return to != nullptr;
  }

private:
  /// Never closed: its threads run to the process's end.
  void* handle_;
};

cuda_driver load() {
  const driver_library library;
  cuda_driver x;
  int (*get_version)(int*) = nullptr;
  if (!library.find(get_version, "cuDriverGetVersion") || get_version(&x.version) != cuda_success)
    refuse_driver(std::string{library_name} + " does not tell its version");
  if (x.version < oldest_version)
    refuse_driver("a driver for CUDA " + cuda_version_text(x.version));
  auto take = [&](auto*& to, const char* name) {
    if (!library.find(to, name))
      refuse_driver("a driver for CUDA " + cuda_version_text(x.version) + " without " + name,
                    ", with all its functions");
  };
  take(x.init, "cuInit");
  take(x.get_error_name, "cuGetErrorName");
  take(x.get_error_string, "cuGetErrorString");
  take(x.device_count, "cuDeviceGetCount");
  take(x.device_get, "cuDeviceGet");
  take(x.device_attribute, "cuDeviceGetAttribute");
  take(x.context.retain, "cuDevicePrimaryCtxRetain");
  take(x.context.release, "cuDevicePrimaryCtxRelease_v2");
  take(x.context.push, "cuCtxPushCurrent_v2");
  take(x.context.pop, "cuCtxPopCurrent_v2");
  take(x.context.synchronize, "cuCtxSynchronize");
  take(x.context.priorities, "cuCtxGetStreamPriorityRange");
  take(x.context.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
  take(x.memory.host_register, "cuMemHostRegister_v2");
  take(x.memory.host_unregister, "cuMemHostUnregister");
  take(x.memory.allocate, "cuMemAlloc_v2");
  take(x.memory.free, "cuMemFree_v2");
  take(x.memory.info, "cuMemGetInfo_v2");
  take(x.memory.copy, "cuMemcpyHtoDAsync_v2");
  take(x.memory.copy_back, "cuMemcpyDtoHAsync_v2");
  take(x.memory.copy_within, "cuMemcpyDtoDAsync_v2");
  take(x.memory.fill, "cuMemsetD32Async");
  take(x.stream.create, "cuStreamCreateWithPriority");
  take(x.stream.destroy, "cuStreamDestroy_v2");
  take(x.stream.wait_event, "cuStreamWaitEvent");
  take(x.event.create, "cuEventCreate");
  take(x.event.destroy, "cuEventDestroy_v2");
  take(x.event.record, "cuEventRecord");
  take(x.event.query, "cuEventQuery");
  take(x.event.synchronize, "cuEventSynchronize");
  take(x.kernel.load, "cuModuleLoadData");
  take(x.kernel.unload, "cuModuleUnload");
  take(x.kernel.find, "cuModuleGetFunction");
  take(x.kernel.launch, "cuLaunchKernel");
  return x;
}

} // namespace

std::string cuda_version_text(int x) {
  return std::to_string(x / 1000) + '.' + std::to_string(x % 1000 / 10);
}

const cuda_driver& find_cuda_driver() {
  static const auto driver = load(); // tried again after a failure
  return driver;
}

std::string text_of_cuda(const cuda_driver& driver, int code) {
  const char* name = nullptr;
  const char* text = nullptr;
  if (driver.get_error_name(code, &name) != cuda_success || !name)
    return "error " + std::to_string(code) + " of CUDA's driver";
  if (driver.get_error_string(code, &text) != cuda_success || !text)
    return name;
  return std::string{name} + " (" + text + ")";
}

} // namespace leat
