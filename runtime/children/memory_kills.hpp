#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

/// How many processes the kernel has killed because memory ran out: on this machine, and in the
/// control group of this process. 0 where it does not tell. Any thread.
std::uint64_t memory_kills() noexcept;

/// The number in the line "name number" of a text; 0 if there is none.
std::uint64_t number_in_lines(std::string_view text, std::string_view name) noexcept;

/// Where the group of a process counts its events, by the text of /proc/self/cgroup; nothing if it
/// is in no group of version 2.
std::optional<std::string> events_file_of(std::string_view groups);

} // namespace leat
