// A driver for CUDA (libcuda.so.1) without a GPU: tests/support/fake_device.hpp behind the
// driver's own functions, those that leat calls and a few for a trainer. Memory of its devices is
// the host's, which may be read once its work is done. A program takes it with LD_LIBRARY_PATH. At
// the process's end, what a program did that it may not do goes to standard error, and the exit
// code is 86.
//
// LEAT_FAKE_CUDA is a list, as "devices=2,mode=lazy":
//
//   devices=N   GPUs (1)
//   version=N   what cuDriverGetVersion() says (13000)
//   cuinit=N    what cuInit() returns (0)
//   pin=N       what cuMemHostRegister() returns, as 304 or 801 (0)
//   memory=N    bytes of a device (all that there are)
//   lost=N      the N-th copy, and all that comes after it, fails with 700
//   capability=N  of all devices, as 90 for 9.0 (90)
//   module=N    what cuModuleLoadData() returns, as 209 or 222 (0)
//   capturing=1 another thread captures a graph, which forbids most calls (900) to threads that
//               have not said that they have nothing to do with it
//   mode=M      eager, lazy, idle or random (random): see fake_order
//   seed=N      of random (1)

#include "tests/shim/fake_cuda.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

using namespace leat::fake_cuda;
using leat::test::fake_call;

namespace {

struct named_code {
  int code;
  const char* name;
  const char* text;
};
constexpr named_code codes[] = {
    {success, "CUDA_SUCCESS", "no error"},
    {invalid_value, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {not_initialized, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {no_device, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {invalid_device, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {invalid_image, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {invalid_context, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {304, "CUDA_ERROR_OPERATING_SYSTEM", "OS call failed or operation not supported on this OS"},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {222, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {invalid_handle, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {not_found, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {not_ready, "CUDA_ERROR_NOT_READY", "device not ready"},
    {illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {already_registered, "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED",
     "part or all of the requested memory range is already mapped"},
    {801, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {802, "CUDA_ERROR_SYSTEM_NOT_READY", "system not yet initialized"},
    {capture_unsupported, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {999, "CUDA_ERROR_UNKNOWN", "unknown error"}};

/// The process that started CUDA; 0: none.
std::atomic<::pid_t> starter{0};
/// Never destroyed: programs call to their very end.
auto& gpus = *new std::vector<std::unique_ptr<gpu>>;
thread_local std::vector<gpu*> contexts;
/// 0 is the strictest, 2 takes no notice of others.
thread_local int capture_mode = 0;

bool is_started() {
  return starter != 0 && starter == ::getpid();
}

void write(const std::string& text) {
  [[maybe_unused]] const auto ignored = ::write(STDERR_FILENO, text.data(), text.size());
}

__attribute__((destructor)) void look_for_problems() {
  if (!is_started())
    return;
  bool has_any = false;
  for (const auto& x : gpus)
    for (const auto& problem : x->device.problems()) {
      write("fake " + x->device.name() + ": " + problem + '\n');
      has_any = true;
    }
  if (has_any)
    ::_exit(86);
}

} // namespace

int leat::fake_cuda::find_gpu(gpu*& found) {
  if (!is_started())
    return not_initialized;
  if (contexts.empty())
    return invalid_context;
  if (capture_mode != 2 && number("capturing", 0) != 0)
    return capture_unsupported;
  if (contexts.back()->is_lost)
    return illegal_address;
  found = contexts.back();
  return success;
}

extern "C" {

// -- for tests

/// A fake_device, once CUDA was started.
LEAT_CUDA_CALL void* leat_fake_cuda_device(int i) {
  return &gpus.at(static_cast<std::size_t>(i))->device;
}

/// Calls so far, by the place in fake_call; of device i.
LEAT_CUDA_CALL unsigned long long leat_fake_cuda_calls(int i, int call) {
  return gpus.at(static_cast<std::size_t>(i))->device.counts().of(static_cast<fake_call>(call));
}

/// "pinned_bytes", "device_bytes", "copied_bytes", "unpinned_copies", "waits_here" (of the calling
/// thread) or "problems".
LEAT_CUDA_CALL unsigned long long leat_fake_cuda_count(int i, const char* what) {
  const auto& device = gpus.at(static_cast<std::size_t>(i))->device;
  const auto all = device.counts();
  const std::map<std::string, std::uint64_t> found{
      {"pinned_bytes", all.pinned_bytes}, {"device_bytes", all.device_bytes},
      {"copied_bytes", all.copied_bytes}, {"unpinned_copies", all.unpinned_copies},
      {"waits_here", device.waits_of()},  {"problems", device.problems().size()}};
  return found.at(what);
}

// -- the driver, as leat calls it

LEAT_CUDA_CALL int cuDriverGetVersion(int* version) {
  *version = static_cast<int>(number("version", 13000));
  return success;
}

LEAT_CUDA_CALL int cuInit(unsigned flags) {
  static std::mutex mutex;
  const std::lock_guard lock{mutex};
  if (flags != 0)
    return invalid_value;
  if (const auto code = static_cast<int>(number("cuinit", 0)))
    return code;
  if (starter != 0)
    return is_started() ? success : not_initialized;
  const auto n = static_cast<int>(number("devices", 1));
  if (n == 0)
    return no_device;
  for (int i = 0; i < n; ++i)
    gpus.push_back(std::make_unique<gpu>(i));
  starter = ::getpid();
  return success;
}

LEAT_CUDA_CALL int cuGetErrorName(int code, const char** text) {
  for (const auto& x : codes)
    if (x.code == code) {
      *text = x.name;
      return success;
    }
  return invalid_value;
}

LEAT_CUDA_CALL int cuGetErrorString(int code, const char** text) {
  for (const auto& x : codes)
    if (x.code == code) {
      *text = x.text;
      return success;
    }
  return invalid_value;
}

LEAT_CUDA_CALL int cuDeviceGetCount(int* n) {
  if (!is_started())
    return not_initialized;
  *n = static_cast<int>(gpus.size());
  return success;
}

LEAT_CUDA_CALL int cuDeviceGet(int* device, int i) {
  if (!is_started())
    return not_initialized;
  *device = i;
  return i >= 0 && i < static_cast<int>(gpus.size()) ? success : invalid_device;
}

LEAT_CUDA_CALL int cuDeviceGetAttribute(int* value, int attribute, int device) {
  constexpr int major_attribute = 75;
  constexpr int minor_attribute = 76;
  if (!is_started())
    return not_initialized;
  if (device < 0 || device >= static_cast<int>(gpus.size()))
    return invalid_device;
  const auto capability = static_cast<int>(number("capability", 90));
  if (attribute != major_attribute && attribute != minor_attribute)
    return invalid_value;
  *value = attribute == major_attribute ? capability / 10 : capability % 10;
  return success;
}

LEAT_CUDA_CALL int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (!is_started())
    return not_initialized;
  auto& x = *gpus.at(static_cast<std::size_t>(device));
  const std::lock_guard lock{x.mutex};
  ++x.references;
  *context = &x;
  return success;
}

LEAT_CUDA_CALL int cuDevicePrimaryCtxRelease_v2(int device) {
  if (!is_started())
    return not_initialized;
  auto& x = *gpus.at(static_cast<std::size_t>(device));
  const std::lock_guard lock{x.mutex};
  return --x.references >= 0 ? success : invalid_context;
}

LEAT_CUDA_CALL int cuCtxPushCurrent_v2(void* context) {
  if (!is_started())
    return not_initialized;
  auto* const x = static_cast<gpu*>(context);
  const std::lock_guard lock{x->mutex};
  if (x->references <= 0)
    return invalid_context;
  contexts.push_back(x);
  return success;
}

LEAT_CUDA_CALL int cuCtxPopCurrent_v2(void** context) {
  if (contexts.empty())
    return invalid_context;
  *context = contexts.back();
  contexts.pop_back();
  return success;
}

LEAT_CUDA_CALL int cuCtxSynchronize() {
  return with_gpu([](gpu& x) {
    x.device.wait_for_all();
    return success;
  });
}

LEAT_CUDA_CALL int cuCtxGetStreamPriorityRange(int* lowest, int* highest) {
  *lowest = 0;
  *highest = -5;
  return contexts.empty() ? invalid_context : success;
}

LEAT_CUDA_CALL int cuThreadExchangeStreamCaptureMode(int* mode) {
  std::swap(*mode, capture_mode);
  return success;
}

LEAT_CUDA_CALL int cuMemHostRegister_v2(void* pages, std::size_t bytes, unsigned flags) {
  if (const auto code = static_cast<int>(number("pin", 0)))
    return code;
  return with_gpu([&](gpu& x) {
    if (flags != 1) // for all devices
      return invalid_value;
    return x.device.pin(static_cast<std::byte*>(pages), bytes) ? already_registered : success;
  });
}

LEAT_CUDA_CALL int cuMemHostUnregister(void* pages) {
  return with_gpu([&](gpu& x) {
    x.device.unpin(static_cast<std::byte*>(pages));
    return success;
  });
}

LEAT_CUDA_CALL int cuMemAlloc_v2(unsigned long long* at, std::size_t bytes) {
  return with_gpu([&](gpu& x) {
    *at = reinterpret_cast<std::uintptr_t>(x.device.allocate(bytes));
    return success;
  });
}

LEAT_CUDA_CALL int cuMemFree_v2(unsigned long long at) {
  return with_gpu([&](gpu& x) {
    x.device.release(address(at));
    return success;
  });
}

LEAT_CUDA_CALL int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  return with_gpu([&](gpu& x) {
    *total = x.memory;
    *free = x.memory - x.device.counts().device_bytes;
    return success;
  });
}

LEAT_CUDA_CALL int cuMemcpyHtoDAsync_v2(unsigned long long to, const void* from, std::size_t bytes,
                                        void* stream) {
  return with_gpu([&](gpu& x) {
    if (++x.copies == number("lost", 0)) {
      x.is_lost = true; // before other threads see what the device says then
      x.device.lose();
      return illegal_address;
    }
    x.device.copy(address(to), static_cast<const std::byte*>(from), bytes, {stream});
    return success;
  });
}

LEAT_CUDA_CALL int cuStreamCreateWithPriority(void** stream, unsigned flags, int priority) {
  return with_gpu([&](gpu& x) {
    const bool is_leats = flags == 1 && priority == 0; // waits for no other, lowest
    *stream = (is_leats ? x.device.make_stream() : x.device.make_trainer_stream()).handle;
    const std::lock_guard lock{x.mutex};
    if (is_leats)
      x.streams_of_leat.insert(*stream);
    return success;
  });
}

LEAT_CUDA_CALL int cuStreamDestroy_v2(void* stream) {
  return with_gpu([&](gpu& x) {
    const std::lock_guard lock{x.mutex};
    if (x.streams_of_leat.erase(stream) > 0)
      x.device.end_stream({stream});
    else
      x.device.end_trainer_stream({stream});
    return success;
  });
}

LEAT_CUDA_CALL int cuStreamWaitEvent(void* stream, void* event, unsigned) {
  return with_gpu([&](gpu& x) {
    x.device.wait({stream}, {event});
    return success;
  });
}

LEAT_CUDA_CALL int cuEventCreate(void** event, unsigned flags) {
  return with_gpu([&](gpu& x) {
    if ((flags & ~3U) != 0)
      return invalid_value;
    *event = x.device.make_event().handle;
    return success;
  });
}

LEAT_CUDA_CALL int cuEventDestroy_v2(void* event) {
  return with_gpu([&](gpu& x) {
    x.device.end_event({event});
    return success;
  });
}

LEAT_CUDA_CALL int cuEventRecord(void* event, void* stream) {
  return with_gpu([&](gpu& x) {
    x.device.record({event}, {stream});
    return success;
  });
}

LEAT_CUDA_CALL int cuEventQuery(void* event) {
  return with_gpu([&](gpu& x) { return x.device.is_reached({event}) ? success : not_ready; });
}

LEAT_CUDA_CALL int cuEventSynchronize(void* event) {
  return with_gpu([&](gpu& x) {
    x.device.wait_here({event});
    return success;
  });
}

// -- the driver, as trainers call it

LEAT_CUDA_CALL int cuStreamCreate(void** stream, unsigned flags) {
  return cuStreamCreateWithPriority(stream, flags, -1);
}

LEAT_CUDA_CALL int cuStreamSynchronize(void* stream) {
  return with_gpu([&](gpu& x) {
    x.device.finish({stream});
    return success;
  });
}

} // extern "C"
