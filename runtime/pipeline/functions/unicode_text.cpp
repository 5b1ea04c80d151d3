#include "runtime/pipeline/functions/unicode_text.hpp"

#include <leat/bad_sample.hpp>

#include <utf8proc.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>

namespace leat {

namespace {

/// They are put into an order, in a time that grows with the square of their number.
constexpr std::size_t most_combining = 1000;

utf8proc_option_t options_of(unicode_form form) {
  const auto composed = form == unicode_form::nfc || form == unicode_form::nfkc;
  const auto compatible = form == unicode_form::nfkc || form == unicode_form::nfkd;
  return static_cast<utf8proc_option_t>(UTF8PROC_STABLE
                                        | (composed ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE)
                                        | (compatible ? UTF8PROC_COMPAT : 0));
}

const utf8proc_uint8_t* bytes_of(std::string_view text) {
  return reinterpret_cast<const utf8proc_uint8_t*>(text.data());
}

/// utf8proc takes this one for a final consonant of Hangul, and drops it after a syllable. It
/// begins a part of its own: no form joins it to what stands before it.
constexpr utf8proc_int32_t before_finals = 0x11A7;

/// Bytes at the beginning that are UTF-8, and can be normalized by themselves. Throws `bad_sample`
/// for too many combining characters.
std::size_t valid_bytes(std::string_view text) {
  std::size_t at = 0;
  std::size_t combining = 0;
  while (at < text.size()) {
    utf8proc_int32_t character = 0;
    const auto rest = text.substr(at);
    const auto n =
        utf8proc_iterate(bytes_of(rest), static_cast<utf8proc_ssize_t>(rest.size()), &character);
    if (n <= 0 || (character == before_finals && at > 0))
      break;
    combining = utf8proc_get_property(character)->combining_class != 0 ? combining + 1 : 0;
    if (combining > most_combining)
      throw bad_sample(cause::too_large, "more than " + std::to_string(most_combining)
                                             + " combining characters in a row");
    at += static_cast<std::size_t>(n);
  }
  return at;
}

struct free_memory {
  void operator()(utf8proc_uint8_t* x) const noexcept { std::free(x); }
};

/// `text` is UTF-8.
void append_normal(std::string_view text, utf8proc_option_t options, std::string& to) {
  utf8proc_uint8_t* made = nullptr;
  const auto size =
      utf8proc_map(bytes_of(text), static_cast<utf8proc_ssize_t>(text.size()), &made, options);
  const std::unique_ptr<utf8proc_uint8_t, free_memory> owner{made};
  if (size
      < 0) // of its errors only these are possible here: no memory, and a text of 2^61 characters
    throw std::bad_alloc{};
  to.append(reinterpret_cast<const char*>(made), static_cast<std::size_t>(size));
}

} // namespace

std::string normal_form(std::string_view text, unicode_form form) {
  const auto is_ascii = [](char x) { return static_cast<unsigned char>(x) < 0x80; };
  if (form == unicode_form::keep || std::all_of(text.begin(), text.end(), is_ascii))
    return std::string{text};
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const auto n = valid_bytes(text);
    if (n > 0)
      append_normal(text.substr(0, n), options_of(form), result);
    else
      result += text.front();
    text.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return result;
}

} // namespace leat
