#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class Option;
}

namespace leat::command {

/// Refuses what the user wrote: throws `errc::invalid_argument`, which ends `leat` with exit
/// code 2.
[[noreturn]] void bad_usage(std::string option, std::string got, std::string needed);

/// Reads a whole number: decimal digits only, no sign, below 2^64. Empty for anything else.
std::optional<std::uint64_t> parse_number(std::string_view text);

/// Cuts at every separator; "a,,b" has three parts, an empty text one.
std::vector<std::string> split(std::string_view text, char separator);

/// Accepts whole numbers of `minimum` .. `maximum` only. CLI11 alone takes "010" for 8 and "-1" for
/// 2^64 - 1.
CLI::Option* whole_number(CLI::Option* option, std::uint64_t minimum,
                          std::uint64_t maximum = UINT64_MAX);

} // namespace leat::command
