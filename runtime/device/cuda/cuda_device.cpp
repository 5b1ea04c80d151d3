#include "runtime/device/cuda/cuda_device.hpp"

#include "runtime/base/text.hpp"
#include "runtime/base/threads/fork_check.hpp"
#include "runtime/device/cuda/cuda_driver.hpp"

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

[[noreturn]] void refuse_fork(const std::string& device) {
  throw error(errc::device,
              {.stage = device,
               .got = "CUDA was started before this process was forked, which ends its use here",
               .needed = "a fork before the first batch on a device and before all other work on "
                         "it, or processes that are not forked (multiprocessing's \"spawn\")"});
}

/// How many there are, once CUDA is started.
int count_devices(const cuda_driver& driver, const std::string& wanted) {
  static const process_mark began; // where CUDA was started first
  if (!began.is_here())
    refuse_fork(wanted);
  int n = 0;
  auto code = driver.init(0);
  if (code == cuda_success)
    code = driver.device_count(&n);
  if (code == cuda_not_initialized)
    refuse_fork(wanted);
  if (code != cuda_success && code != cuda_no_device)
    throw error(errc::device, {.stage = wanted,
                               .got = text_of_cuda(driver, code) + " as CUDA started",
                               .needed = "a GPU and a driver that work (nvidia-smi)"});
  return code == cuda_success ? n : 0;
}

/// Makes a device's context the one that calls of this thread mean. A trainer that captures a graph
/// in another thread does not forbid them (CU_STREAM_CAPTURE_MODE_RELAXED), nor do they end its
/// capture.
class current_context {
public:
  current_context(const cuda_driver& driver, void* context)
      : driver_(driver), code_(driver.context.push(context)) {
    if (code_ == cuda_success)
      driver_.context.exchange_capture_mode(&capture_mode_);
  }
  ~current_context() {
    if (code_ != cuda_success)
      return;
    driver_.context.exchange_capture_mode(&capture_mode_);
    void* popped = nullptr;
    driver_.context.pop(&popped);
  }
  current_context(const current_context&) = delete;
  current_context& operator=(const current_context&) = delete;

  int code() const noexcept { return code_; }

private:
  static constexpr int relaxed = 2;

  const cuda_driver& driver_;
  const int code_;
  /// What the thread has when this one ends.
  int capture_mode_ = relaxed;
};

unsigned long long address(const std::byte* x) {
  return std::bit_cast<unsigned long long>(x);
}

class cuda_device final : public device_calls {
public:
  cuda_device(const cuda_driver& driver, int number) : driver_(driver), number_(number) {
    check(driver_.device_get(&device_, number), "cuDeviceGet");
    check(driver_.context.retain(&context_, device_), "cuDevicePrimaryCtxRetain");
  }
  /// As the process ends, the driver may have gone before: what it answers does not count.
  ~cuda_device() override {
    if (mark_.is_here())
      driver_.context.release(device_);
  }

  std::string name() const override { return "cuda:" + std::to_string(number_); }
  int number() const noexcept override { return number_; }

  std::optional<std::string> pin(std::byte* pages, std::size_t bytes) override {
    const auto code =
        in_context([&] { return driver_.memory.host_register(pages, bytes, portable); });
    if (code == cuda_success)
      return std::nullopt;
    return text_of_cuda(driver_, code);
  }
  void unpin(std::byte* pages) noexcept override {
    end([&] { return driver_.memory.host_unregister(pages); });
  }

  std::byte* allocate(std::size_t bytes) override {
    unsigned long long at = 0;
    const auto code = in_context([&] { return driver_.memory.allocate(&at, bytes); });
    if (code == cuda_out_of_memory)
      refuse_memory(bytes);
    check(code, "cuMemAlloc");
    return std::bit_cast<std::byte*>(at);
  }
  void release(std::byte* memory) noexcept override {
    end([&] { return driver_.memory.free(address(memory)); });
  }

  device_stream make_stream() override {
    device_stream x;
    call("cuStreamCreateWithPriority", [&] {
      int lowest = 0;
      int highest = 0;
      const auto code = driver_.context.priorities(&lowest, &highest);
      return code == cuda_success ? driver_.stream.create(&x.handle, non_blocking, lowest) : code;
    });
    return x;
  }
  void end_stream(device_stream x) noexcept override {
    end([&] { return driver_.stream.destroy(x.handle); });
  }
  device_event make_event() override {
    device_event x;
    call("cuEventCreate", [&] { return driver_.event.create(&x.handle, sleeping_untimed); });
    return x;
  }
  void end_event(device_event x) noexcept override {
    end([&] { return driver_.event.destroy(x.handle); });
  }

  void copy(std::byte* to, const std::byte* from, std::size_t bytes, device_stream on) override {
    call("cuMemcpyHtoDAsync",
         [&] { return driver_.memory.copy(address(to), from, bytes, on.handle); });
  }
  void record(device_event mark, device_stream in) override {
    call("cuEventRecord", [&] { return driver_.event.record(mark.handle, in.handle); });
  }
  void wait(device_stream waits, device_event for_mark) override {
    call("cuStreamWaitEvent",
         [&] { return driver_.stream.wait_event(waits.handle, for_mark.handle, 0); });
  }
  bool is_reached(device_event mark) override {
    const auto code = in_context([&] { return driver_.event.query(mark.handle); });
    if (code != cuda_not_ready)
      check(code, "cuEventQuery");
    return code == cuda_success;
  }
  void wait_here(device_event mark) override {
    call("cuEventSynchronize", [&] { return driver_.event.synchronize(mark.handle); });
  }
  void wait_for_all() override {
    call("cuCtxSynchronize", [&] { return driver_.context.synchronize(); });
  }

private:
  template <class Function>
  int in_context(Function function) const {
    if (!mark_.is_here())
      return cuda_not_initialized;
    const current_context context{driver_, context_};
    return context.code() == cuda_success ? function() : context.code();
  }
  template <class Function>
  void call(const char* name, Function function) const {
    check(in_context(function), name);
  }
  /// A context that is lost has lost what ends here, and so has a process that ends. Nothing in the
  /// child of a fork ends what is its parent's.
  template <class Function>
  void end(Function function) const noexcept {
    if (mark_.is_here())
      in_context(function);
  }

  void check(int code, const char* name) const {
    if (code == cuda_success)
      return;
    if (code == cuda_not_initialized || !mark_.is_here())
      refuse_fork(this->name());
    const bool no_memory = code == cuda_out_of_memory;
    throw error(no_memory ? errc::no_resources : errc::device,
                {.stage = this->name(),
                 .got = text_of_cuda(driver_, code) + " from " + name,
                 .needed = no_memory ? "a GPU with free memory, which other processes may hold "
                                       "(nvidia-smi)"
                                     : "a GPU on which no earlier work of this process has failed: "
                                       "CUDA_LAUNCH_BLOCKING=1 shows which did"});
  }

  [[noreturn]] void refuse_memory(std::size_t bytes) const {
    std::size_t free = 0;
    std::size_t total = 0;
    in_context([&] { return driver_.memory.info(&free, &total); });
    throw error(errc::no_resources,
                {.stage = name(),
                 .got = "no memory of the device for " + counted(bytes, "byte") + " of batches: "
                        + std::to_string(free) + " of " + std::to_string(total) + " are free",
                 .needed = "a smaller batch, fewer leases, fewer device_fields, or less memory in "
                           "other use there"});
  }

  const cuda_driver& driver_;
  const int number_;
  const process_mark mark_;
  int device_ = 0;
  void* context_ = nullptr;
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
