#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
} // namespace CLI

namespace leat::command {

/// The last epoch that has one after it, which jobs count to.
inline constexpr std::uint64_t max_epochs = UINT64_MAX - 1;

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

/// Lets no option of the app and its subcommands be given an empty text: that is a script's
/// variable which is not set, and not what an option left away means. Call it when all options are
/// there.
void refuse_empty_texts(CLI::App& app);

} // namespace leat::command
