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

} // namespace leat
