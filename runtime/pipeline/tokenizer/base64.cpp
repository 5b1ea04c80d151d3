#include "runtime/pipeline/tokenizer/base64.hpp"

#include <cstdint>

namespace leat {

std::optional<std::string> bytes_of_base64(std::string_view text) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0)
    return std::nullopt;
  const auto padding = text.ends_with("==") ? 2U : text.ends_with('=') ? 1U : 0U;
  text.remove_suffix(padding);
  std::string result;
  std::uint32_t bits = 0;
  unsigned held = 0;
  for (const auto c : text) {
    const auto value = digits.find(c);
    if (value == std::string_view::npos)
      return std::nullopt;
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    held += 6;
    if (held < 8)
      continue;
    held -= 8;
    result += static_cast<char>(static_cast<unsigned char>(bits >> held & 0xff));
  }
  return result;
}

} // namespace leat
