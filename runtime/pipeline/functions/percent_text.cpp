#include "runtime/pipeline/functions/percent_text.hpp"

#include "runtime/base/utf8.hpp"

#include <charconv>
#include <cstddef>

namespace leat {

namespace {

bool stays(std::string_view character) {
  const auto byte = static_cast<unsigned char>(character.front());
  return character.size() > 1 || (byte > ' ' && byte < 0x7f && byte != '%' && byte != ',');
}

} // namespace

std::string percent_text(std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string word;
  while (!text.empty()) {
    const auto size = utf8_length(text);
    const auto byte = static_cast<unsigned char>(text.front());
    if (size > 0 && stays(text.substr(0, size)))
      word += text.substr(0, size);
    else
      word.append({'%', digits[byte >> 4], digits[byte & 15]});
    text.remove_prefix(size > 0 ? size : 1);
  }
  return word;
}

std::optional<std::string> text_of_percent(std::string_view word) {
  std::string text;
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%') {
      text += word[i];
      continue;
    }
    unsigned char byte = 0;
    const auto digits = word.substr(i + 1, 2);
    const auto* end = digits.data() + digits.size();
    const auto [stop, failure] = std::from_chars(digits.data(), end, byte, 16);
    if (digits.size() < 2 || failure != std::errc{} || stop != end)
      return std::nullopt;
    text += static_cast<char>(byte);
    i += 2;
  }
  return text;
}

} // namespace leat
