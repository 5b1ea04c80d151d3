#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace leat::gpu_check {

/// What leat called of the driver, by name. This program's own dlsym stands in front of the C
/// library's and gives libleat calls that are counted on their way to the driver.
struct watched_call {
  std::string name;
  std::uint64_t calls = 0;
  /// Those of the trainer's thread among them.
  std::uint64_t by_trainer = 0;
  std::uint64_t longest_by_trainer_ns = 0;
};

/// Calls of this thread count as the trainer's.
void be_trainer() noexcept;
/// Counts begin again.
void watch_again() noexcept;
/// Since then; those that were called.
std::vector<watched_call> watched_calls();
/// From now on the driver refuses to pin memory for leat.
void refuse_to_pin() noexcept;

} // namespace leat::gpu_check
