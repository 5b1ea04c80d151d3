#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/device/device_calls.hpp"

#include <memory>
#include <vector>

namespace leat {

/// The streams in which a batch is used, and marks at the ends of its use. One thread at a time.
class stream_uses : not_copied {
public:
  explicit stream_uses(std::shared_ptr<device_calls> calls) : calls_(std::move(calls)) {}
  ~stream_uses();

  void add(device_stream x);
  /// Streams that nobody names.
  void add_unnamed() noexcept { has_unnamed_ = true; }
  /// Puts the marks after all that the streams were given so far.
  void end() noexcept;

  // After end():
  /// Has `stream` wait for the marks. The host waits only for streams that nobody names.
  void make_wait(device_stream stream);
  void wait_here();
  bool are_over();
  void forget() noexcept;

private:
  device_event event(std::size_t i);

  const std::shared_ptr<device_calls> calls_;
  std::vector<device_stream> streams_;
  bool has_unnamed_ = false;
  /// Made when first needed, and kept.
  std::vector<device_event> ends_;
};

} // namespace leat
