#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <chrono>

namespace leat {

/// What poll(2) waits from `now` to `end`, rounded up.
int poll_milliseconds(std::chrono::steady_clock::time_point end,
                      std::chrono::steady_clock::time_point now) noexcept;

/// Lets one thread end another's waits: once it is set, it stays set until somebody clears it.
class wake_event : not_copied {
public:
  /// Throws `errc::no_resources`.
  wake_event();

  /// Any thread.
  void set() const noexcept;
  void clear() const noexcept;
  /// Readable once it is set, for poll(2).
  int descriptor() const noexcept { return event_.get(); }

private:
  file_descriptor event_;
};

/// Waits until the socket has one of these events, as poll(2) has them. Returns 0, ETIMEDOUT at
/// `end`, or another errno. `stop` may be null; throws `errc::interrupted` once it is set.
int wait_for_socket(const file_descriptor& socket, short events, const wake_event* stop,
                    std::chrono::steady_clock::time_point end);

} // namespace leat
