#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace leat::gpu_check {

/// What a trainer calls: the driver's own streams, events and copies. Loaded by dlopen, because no
/// machine that builds this has CUDA's headers. Calls throw std::runtime_error.
class driver {
public:
  using stream = void*;
  using event = void*;

  /// Starts CUDA on GPU 0. Throws if there is none, and says why.
  driver();
  driver(const driver&) = delete;
  driver& operator=(const driver&) = delete;

  /// To be called first by each further thread.
  void enter() const;

  /// Pins memory of the host, so that copies to it return at once; where the driver refuses, they
  /// take longer.
  void pin(std::vector<std::byte>& x) const noexcept;
  void unpin(std::vector<std::byte>& x) const noexcept;
  /// It does not wait for the default stream.
  stream make_stream() const;
  void end_stream(stream x) const noexcept;
  event make_event() const;
  void end_event(event x) const noexcept;

  void record(event x, stream in) const;
  void wait(stream waits, event for_event) const;
  void wait_here(event x) const;
  void finish(stream x) const;
  /// From the device.
  void copy(std::byte* to, const void* from, std::size_t bytes, stream in) const;

  /// Has the stream stand still, as long work would. Nothing where the driver cannot compile the
  /// kernel for that.
  void delay(stream in, std::uint64_t nanoseconds) const;
  bool can_delay() const noexcept { return kernel_ != nullptr; }

private:
  struct calls {
    int (*init)(unsigned);
    int (*device)(int*, int);
    int (*retain)(void**, int);
    int (*enter)(void*);
    int (*pin)(void*, std::size_t, unsigned);
    int (*unpin)(void*);
    int (*make_stream)(stream*, unsigned);
    int (*end_stream)(stream);
    int (*wait_stream)(stream);
    int (*make_event)(event*, unsigned);
    int (*end_event)(event);
    int (*record)(event, stream);
    int (*wait_event)(stream, event, unsigned);
    int (*wait_here)(event);
    int (*copy)(void*, std::uint64_t, std::size_t, stream);
    int (*error_name)(int, const char**);
  };
  using launch_call = int (*)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                              unsigned, stream, void**, void**);

  void check(int code, const char* call) const;
  void load_kernel(void* library);

  calls calls_ = {};
  void* context_ = nullptr;
  launch_call launch_ = nullptr;
  void* kernel_ = nullptr;
};

} // namespace leat::gpu_check
