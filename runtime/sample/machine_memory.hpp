#pragma once

#include <cstddef>

namespace leat {

/// Bytes of the machine's memory: a request for more fails late, when the system chooses a process
/// to kill.
std::size_t memory_of_machine() noexcept;

/// Throws `errc::no_resources`: one sample would have so many bytes.
[[noreturn]] void refuse_sample_bytes(std::size_t bytes, std::size_t most);

/// Refuses a sample, or a field, of more than half of the machine's memory: it is made beside the
/// batch that it goes into.
inline void check_sample_bytes(std::size_t bytes) {
  constexpr std::size_t always_good = std::size_t{1} << 30;
  if (bytes > always_good && bytes > memory_of_machine() / 2)
    refuse_sample_bytes(bytes, memory_of_machine() / 2);
}

} // namespace leat
