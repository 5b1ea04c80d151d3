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

/// The last epoch that another can follow: jobs count one beyond their last epoch.
inline constexpr std::uint64_t max_epochs = UINT64_MAX - 1;

/// Reads a whole number: decimal digits only, no sign, below 2^64. Nothing for any other text.
std::optional<std::uint64_t> parse_number(std::string_view text);

/// Cuts at every separator; "a,,b" has three parts, an empty text one.
std::vector<std::string> split(std::string_view text, char separator);

/// Accepts only whole numbers from `minimum` to `maximum`. CLI11 by itself takes "010" for 8 and
/// "-1" for 2^64 - 1.
CLI::Option* whole_number(CLI::Option* option, std::uint64_t minimum,
                          std::uint64_t maximum = UINT64_MAX);

/// Makes all options of the app and its subcommands whose value is a FILE or a DIR refuse an
/// address: nothing but data is read from servers, and nothing is written there. Call it after all
/// options have been added.
void refuse_addresses(CLI::App& app);

/// Makes all options of the app and its subcommands refuse an empty text: it comes from an unset
/// variable in a script, and does not mean the same as leaving out the option. Call it after all
/// options have been added.
void refuse_empty_texts(CLI::App& app);

} // namespace leat::command
