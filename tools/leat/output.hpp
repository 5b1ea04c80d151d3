#pragma once

#include <leat/bad_sample.hpp>

#include <nlohmann/json.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace leat::command {

/// Prints a line on standard output. Throws `errc::io` if it cannot be written.
void print_line(std::string_view text);

/// Writes out what print_line has buffered. Throws `errc::io`.
void flush_output();

/// Prints "leat SUBCOMMAND: TEXT" on standard error.
void print_notice(std::string_view subcommand, std::string_view text);

/// "1,234,567"
std::string with_commas(std::uint64_t x);

/// "512 bytes", "1.5 MB": powers of 1000, two or three significant digits.
std::string readable_bytes(std::uint64_t x);

/// "0.123": with this number of decimals.
std::string fixed(double x, int decimals);

/// "12%", of a share of 1.
std::string percent(double share, int decimals = 0);

inline double in_seconds(std::chrono::nanoseconds x) {
  return std::chrono::duration<double>(x).count();
}

/// The counts that are not 0, by name of the cause.
nlohmann::json bad_to_json(const bad_counts& x);

} // namespace leat::command
