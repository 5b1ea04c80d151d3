#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace leat {

/// A number of JSON: an integer of 64 bits, signed, or else the nearest float64.
using json_number = std::variant<std::int64_t, double>;

/// Reads all of `text` as a number of JSON (RFC 8259). Nothing for other text and for numbers
/// beyond float64; what is nearer to zero than all others of float64 is zero.
std::optional<json_number> read_json_number(std::string_view text) noexcept;

} // namespace leat
