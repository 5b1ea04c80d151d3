#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/storage/file_descriptor.hpp"

namespace leat {

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

} // namespace leat
