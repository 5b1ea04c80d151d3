#include "runtime/device/cuda/cuda_device.hpp"

#include "runtime/base/text.hpp"
#include "runtime/base/threads/fork_check.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/device/cuda/cuda_context.hpp"
#include "runtime/device/cuda/cuda_driver.hpp"
#include "runtime/device/cuda/cuda_kernels.hpp"
#include "runtime/device/cuda/nvjpeg_decoder.hpp"

#include <leat/error.hpp>

#include <bit>
#include <cstdint>
#include <utility>

namespace leat {

namespace {

/// For copies to all devices (CU_MEMHOSTREGISTER_PORTABLE).
constexpr unsigned portable = 1;
/// The legacy default stream is not waited for (CU_STREAM_NON_BLOCKING).
constexpr unsigned non_blocking = 1;
/// Threads that wait sleep (CU_EVENT_BLOCKING_SYNC), and no time is taken
/// (CU_EVENT_DISABLE_TIMING).
constexpr unsigned sleeping_untimed = 1 | 2;

/// How many there are, once CUDA is started.
int count_devices(const cuda_driver& driver, const std::string& wanted) {
  static const process_mark began; // where CUDA was started first
  if (!began.is_here())
    refuse_cuda_fork(wanted);
  int n = 0;
  auto code = driver.init(0);
  if (code == cuda_success)
    code = driver.device_count(&n);
  if (code == cuda_not_initialized)
    refuse_cuda_fork(wanted);
  if (code != cuda_success && code != cuda_no_device)
    throw error(errc::device, {.stage = wanted,
                               .got = text_of_cuda(driver, code) + " as CUDA started",
                               .needed = "a GPU and a driver that work (nvidia-smi)"});
  return code == cuda_success ? n : 0;
}

class cuda_device final : public device_calls {
public:
  cuda_device(const cuda_driver& driver, int number) : driver_(driver), context_(driver, number) {}

  std::string name() const override { return context_.name(); }
  int number() const noexcept override { return context_.number(); }

  std::optional<std::string> pin(std::byte* pages, std::size_t bytes) override {
    const auto code =
        context_.ask([&] { return driver_.memory.host_register(pages, bytes, portable); });
    if (code == cuda_success)
      return std::nullopt;
    return text_of_cuda(driver_, code);
  }
  void unpin(std::byte* pages) noexcept override {
    context_.end([&] { return driver_.memory.host_unregister(pages); });
  }

  std::byte* allocate(std::size_t bytes) override {
    unsigned long long at = 0;
    const auto code = context_.ask([&] { return driver_.memory.allocate(&at, bytes); });
    if (code == cuda_out_of_memory)
      refuse_memory(bytes);
    context_.check(code, "cuMemAlloc");
    return std::bit_cast<std::byte*>(at);
  }
  void release(std::byte* memory) noexcept override {
    context_.end([&] { return driver_.memory.free(cuda_address(memory)); });
  }

  device_stream make_stream() override {
    device_stream x;
    context_.call("cuStreamCreateWithPriority", [&] {
      int lowest = 0;
      int highest = 0;
      const auto code = driver_.context.priorities(&lowest, &highest);
      return code == cuda_success ? driver_.stream.create(&x.handle, non_blocking, lowest) : code;
    });
    return x;
  }
  void end_stream(device_stream x) noexcept override {
    context_.end([&] { return driver_.stream.destroy(x.handle); });
  }
  device_event make_event() override {
    device_event x;
    context_.call("cuEventCreate",
                  [&] { return driver_.event.create(&x.handle, sleeping_untimed); });
    return x;
  }
  void end_event(device_event x) noexcept override {
    context_.end([&] { return driver_.event.destroy(x.handle); });
  }

  void copy(std::byte* to, const std::byte* from, std::size_t bytes, device_stream on) override {
    context_.call("cuMemcpyHtoDAsync",
                  [&] { return driver_.memory.copy(cuda_address(to), from, bytes, on.handle); });
  }
  void record(device_event mark, device_stream in) override {
    context_.call("cuEventRecord", [&] { return driver_.event.record(mark.handle, in.handle); });
  }
  void wait(device_stream waits, device_event for_mark) override {
    context_.call("cuStreamWaitEvent",
                  [&] { return driver_.stream.wait_event(waits.handle, for_mark.handle, 0); });
  }
  bool is_reached(device_event mark) override {
    const auto code = context_.ask([&] { return driver_.event.query(mark.handle); });
    if (code != cuda_not_ready)
      context_.check(code, "cuEventQuery");
    return code == cuda_success;
  }
  void wait_here(device_event mark) override {
    context_.call("cuEventSynchronize", [&] { return driver_.event.synchronize(mark.handle); });
  }
  void wait_for_all() override {
    context_.call("cuCtxSynchronize", [&] { return driver_.context.synchronize(); });
  }

  device_kernels& kernels() override {
    const mutex_lock lock{mutex_};
    if (!kernels_)
      kernels_ = load_cuda_kernels(context_);
    return *kernels_;
  }
  std::unique_ptr<device_jpegs> open_jpegs() override { return open_nvjpeg(context_, *this); }

private:
  [[noreturn]] void refuse_memory(std::size_t bytes) const {
    std::size_t free = 0;
    std::size_t total = 0;
    context_.ask([&] { return driver_.memory.info(&free, &total); });
    throw error(errc::no_resources,
                {.stage = name(),
                 .got = "no memory of the device for " + counted(bytes, "byte") + " of batches: "
                        + std::to_string(free) + " of " + std::to_string(total) + " are free",
                 .needed = "a smaller batch, fewer leases, fewer device_fields, or less memory in "
                           "other use there"});
  }

  const cuda_driver& driver_;
  const cuda_context context_;
  mutex mutex_;
  std::unique_ptr<device_kernels> kernels_ LEAT_GUARDED_BY(mutex_); // ends before the context
};

} // namespace

void check_cuda_driver() {
  find_cuda_driver();
}

std::shared_ptr<device_calls> open_cuda(int number) {
  const auto& driver = find_cuda_driver();
  const auto wanted = "cuda:" + std::to_string(number);
  const int n = count_devices(driver, wanted);
  const std::string needed = "a GPU that this process sees: nvidia-smi lists them, and "
                             "CUDA_VISIBLE_DEVICES and containers hide some";
  if (n == 0)
    throw error(errc::device, {.stage = wanted, .got = "no GPU here", .needed = needed});
  if (number < 0 || number >= n)
    throw error(errc::device,
                {.stage = wanted,
                 .got = wanted + ", and " + counted(static_cast<std::uint64_t>(n), "GPU"),
                 .needed = needed});
  return std::make_shared<cuda_device>(driver, number);
}

} // namespace leat
