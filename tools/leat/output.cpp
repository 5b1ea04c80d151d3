#include "tools/leat/output.hpp"

#include "runtime/base/system_words.hpp"

#include <leat/error.hpp>

#include <array>
#include <cerrno>
#include <cstdio>

namespace leat::command {

namespace {

void check_printed(bool good) {
  if (!good)
    throw error(errc::io, {.stage = "standard output", .got = system_words(errno)});
}

} // namespace

void print_line(std::string_view text) {
  check_printed(std::fwrite(text.data(), 1, text.size(), stdout) == text.size()
                && std::fputc('\n', stdout) != EOF);
}

void flush_output() {
  check_printed(std::fflush(stdout) == 0);
}

void print_notice(std::string_view subcommand, std::string_view text) {
  // One call, so that the lines of several processes do not mix.
  auto line = "leat " + std::string{subcommand} + ": " + std::string{text} + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

std::string with_commas(std::uint64_t x) {
  auto text = std::to_string(x);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

std::string readable_bytes(std::uint64_t x) {
  if (x < 1000)
    return std::to_string(x) + " bytes";
  constexpr std::array<const char*, 6> units{"kB", "MB", "GB", "TB", "PB", "EB"};
  auto value = static_cast<double>(x) / 1000;
  std::size_t unit = 0;
  for (; value >= 999.5 && unit + 1 < units.size(); ++unit)
    value /= 1000;
  return fixed(value, value < 9.95 ? 1 : 0) + " " + units[unit];
}

std::string fixed(double x, int decimals) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), "%.*f", decimals, x);
  return text.data();
}

std::string percent(double share, int decimals) {
  return fixed(100 * share, decimals) + '%';
}

nlohmann::json bad_to_json(const bad_counts& x) {
  auto result = nlohmann::json::object();
  for (std::size_t i = 0; i < num_causes; ++i)
    if (x[i] != 0)
      result[std::string{to_string(static_cast<cause>(i))}] = x[i];
  return result;
}

} // namespace leat::command
