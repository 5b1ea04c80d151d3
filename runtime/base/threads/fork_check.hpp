#pragma once

#include "runtime/base/not_copied.hpp"

#include <cstdint>

namespace leat {

/// Rises by one in the child of each fork. A child does not have its parent's threads, and locks
/// that they held stay locked in it: it may neither use what its parent created here nor clean it
/// up.
std::uint32_t fork_generation() noexcept;

/// Remembers the process in which it was created.
class process_mark {
public:
  bool is_here() const noexcept { return generation_ == fork_generation(); }

private:
  std::uint32_t generation_ = fork_generation();
};

/// Lives as long as something that a fork would break: threads, and locks that they may hold.
class fork_hazard : not_copied {
public:
  fork_hazard() noexcept;
  ~fork_hazard();
};

/// True in the child of a fork during which a fork_hazard lived, and in all descendants of it.
bool is_maimed_by_fork() noexcept;

} // namespace leat
