#pragma once

#include "runtime/base/not_copied.hpp"

namespace leat {

/// Whoever keeps descriptors for openings that must not fail where the process has no more.
class descriptor_keeper : public not_copied {
public:
  virtual ~descriptor_keeper() = default;
  /// Closes one; false if none is left.
  virtual bool give_one() noexcept = 0;
};

/// While this lives, openings of this thread that find no more descriptors ask this keeper first.
class with_keeper : not_copied {
public:
  explicit with_keeper(descriptor_keeper& x) noexcept;
  ~with_keeper();

private:
  descriptor_keeper* before_;
};

/// Closes a descriptor that is kept for this thread; false if none is.
bool give_kept_descriptor() noexcept;

} // namespace leat
