#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace leat {

/// A number of JSON.
struct json_number {
  /// An integer exactly, unsigned only where it has to be; any other number, and an integer that
  /// 64 bits cannot hold, as the nearest float64.
  std::variant<std::int64_t, std::uint64_t, double> value = std::int64_t{0};
  /// It is such an integer.
  bool is_beyond_integers = false;
};

/// Reads all of `text` as a number of JSON (RFC 8259). Nothing for other text and for numbers
/// beyond float64; what is nearer to zero than all others of float64 is zero.
std::optional<json_number> read_json_number(std::string_view text) noexcept;

} // namespace leat
