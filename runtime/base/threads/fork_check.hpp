#pragma once

#include <cstdint>

namespace leat {

/// Rises in the child of each fork. A child does not have its parent's threads, and locks that they
/// held stay locked there: it may neither use what its parent made here nor clean it up.
std::uint32_t fork_generation() noexcept;

/// The process that an object was made in.
class process_mark {
public:
  bool is_here() const noexcept { return generation_ == fork_generation(); }

private:
  std::uint32_t generation_ = fork_generation();
};

/// Lives with what a fork would leave behind: threads, and locks that they may hold.
class fork_hazard {
public:
  fork_hazard() noexcept;
  ~fork_hazard();
  fork_hazard(const fork_hazard&) = delete;
  fork_hazard& operator=(const fork_hazard&) = delete;
};

/// True in the child of a fork beside which a fork_hazard lived, and in all children of that one.
bool is_maimed_by_fork() noexcept;

} // namespace leat
