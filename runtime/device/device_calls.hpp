#pragma once

#include "runtime/base/not_copied.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace leat {

class device_jpegs;
class device_kernels;

/// A queue of work on a device, which the device does in order: the driver's own handle (CUstream,
/// which is cudaStream_t).
struct device_stream {
  void* handle = nullptr;

  friend bool operator==(const device_stream&, const device_stream&) = default;
};

/// A mark in a stream: it is reached once the device has done all that was before it.
struct device_event {
  void* handle = nullptr;
};

/// The few calls of a device's driver that batches need. Any thread, any number of them at a time.
/// Calls that do not say so throw `errc::device` where the driver refuses them, or names a failure
/// of earlier work.
class device_calls : not_copied {
public:
  virtual ~device_calls() = default;

  /// "cuda:0"
  virtual std::string name() const = 0;
  /// Its number, as DLPack counts.
  virtual int number() const noexcept = 0;

  /// Pins pages of the host, which copies then take without a detour, for all devices. The driver's
  /// reason if it refuses, as under a limit for locked memory.
  virtual std::optional<std::string> pin(std::byte* pages, std::size_t bytes) = 0;
  virtual void unpin(std::byte* pages) noexcept = 0;

  /// Memory of the device. Throws `errc::no_resources`.
  virtual std::byte* allocate(std::size_t bytes) = 0;
  /// The device must not use it any more.
  virtual void release(std::byte* memory) noexcept = 0;

  /// A stream of lowest priority that waits for no other one.
  virtual device_stream make_stream() = 0;
  virtual void end_stream(device_stream x) noexcept = 0;
  virtual device_event make_event() = 0;
  virtual void end_event(device_event x) noexcept = 0;

  /// Has the stream copy from the host. From pinned pages the call returns at once, and the pages
  /// must stay as they are until the stream has done it; from others it may take as long as the
  /// copy.
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes, device_stream on) = 0;
  /// Puts the mark at the end of the stream's work; an earlier place of the mark does not count any
  /// more, except for waits that were asked for before.
  virtual void record(device_event mark, device_stream in) = 0;
  /// Has the stream wait for the mark's place, if it has one. The host does not wait.
  virtual void wait(device_stream waits, device_event for_mark) = 0;
  /// Whether the mark is reached, or has no place.
  virtual bool is_reached(device_event mark) = 0;
  /// The calling thread sleeps until the mark is reached.
  virtual void wait_here(device_event mark) = 0;
  /// The calling thread sleeps until the device has done all that it was given, by anybody.
  virtual void wait_for_all() = 0;

  /// What decodes there, which this keeps: it is loaded by the first call. Throws `errc::device`
  /// that says why the device cannot.
  virtual device_kernels& kernels() = 0;
  /// A decoder of the device's maker, which must end before this. Throws `errc::device` that says
  /// why there is none.
  virtual std::unique_ptr<device_jpegs> open_jpegs() = 0;
};

} // namespace leat
