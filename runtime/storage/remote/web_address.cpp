#include "runtime/storage/remote/web_address.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"

#include <algorithm>

namespace leat {

namespace {

bool is_letter(char x) noexcept {
  return (x >= 'a' && x <= 'z') || (x >= 'A' && x <= 'Z');
}

/// The value of a hexadecimal digit; -1 for anything else.
int hex_value(char x) noexcept {
  return is_digit(x)            ? x - '0'
         : x >= 'a' && x <= 'f' ? x - 'a' + 10
         : x >= 'A' && x <= 'F' ? x - 'A' + 10
                                : -1;
}

/// Whether a character stands in requests as it is (RFC 3986).
bool is_unreserved(char x) noexcept {
  return is_word_char(x) || x == '-' || x == '.' || x == '~';
}

bool is_host_character(char x) noexcept {
  return is_letter(x) || is_digit(x)
         || std::string_view{"-._:[]"}.find(x) != std::string_view::npos;
}

std::string in_lower_case(std::string_view text) {
  std::string lower{text};
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char x) {
    return x >= 'A' && x <= 'Z' ? static_cast<char>(x - 'A' + 'a') : x;
  });
  return lower;
}

/// What follows the last ":" outside of brackets, if there is one, are digits.
bool has_valid_port(std::string_view server) {
  const auto colon = server.rfind(':');
  if (colon == std::string_view::npos || server.find(']', colon) != std::string_view::npos)
    return true;
  const auto port = server.substr(colon + 1);
  return !port.empty() && std::all_of(port.begin(), port.end(), is_digit);
}

} // namespace

std::string_view scheme_of(std::string_view name) noexcept {
  const auto end = name.find("://");
  if (end == std::string_view::npos || end == 0 || !is_letter(name[0]))
    return {};
  const auto scheme = name.substr(0, end);
  const bool is_one = std::all_of(scheme.begin(), scheme.end(), [](char x) {
    return is_letter(x) || is_digit(x) || x == '+' || x == '-' || x == '.';
  });
  return is_one ? scheme : std::string_view{};
}

std::string without_secrets(const std::string& name) {
  const auto scheme = scheme_of(name);
  if (scheme.empty())
    return name;
  const auto host = scheme.size() + 3;
  const auto end = std::min(name.find_first_of("?#"), name.size());
  const auto server =
      std::string_view{name}.substr(host, std::min(name.find('/', host), end) - host);
  const auto at = name.rfind('@', end);
  // A password with "/" in it is not valid, but may be a password all the same.
  if (at == std::string::npos || at < host
      || (at >= host + server.size() && has_valid_port(server)))
    return name.substr(0, end);
  return name.substr(0, host) + "..." + name.substr(at, end - at);
}

void check_is_path(const std::string& name, const std::string& stage) {
  if (!scheme_of(name).empty())
    throw_file_error(
        errc::invalid_argument, stage, as_utf8(without_secrets(name)), "an address",
        "a path of this machine: leat puts nothing on servers but indexes of tar shards");
}

web_address::web_address(const std::string& name, const std::string& stage, spelling is) {
  const auto refuse = [&](std::string got, std::string needed) {
    throw_file_error(errc::invalid_argument, stage, as_utf8(without_secrets(name)), std::move(got),
                     std::move(needed));
  };
  const auto scheme = in_lower_case(scheme_of(name));
  if (scheme.empty())
    refuse("a name without a scheme", "https://HOST/PATH");
  const auto host = scheme.size() + 3;
  const auto end = std::min(name.find_first_of("/?#", host), name.size());
  const auto server = std::string_view{name}.substr(host, end - host);
  if (server.find('@') != std::string_view::npos)
    refuse("an address with a user or password in it", "one without: it would be shown in errors");
  if (server.empty() || !std::all_of(server.begin(), server.end(), is_host_character)
      || !has_valid_port(server))
    refuse("an address without a valid host", "https://HOST/PATH");
  if (is == spelling::written && name.find_first_of("?#", end) != std::string::npos)
    refuse("an address with \"?\" or \"#\"",
           "one without: what follows \"?\" may be a signature, which pipelines and errors would "
           "show; a \"?\" in a file's name is written %3F");
  name_ = scheme + "://" + in_lower_case(server);
  path_ = name_.size();
  if (end == name.size() || name[end] != '/')
    refuse("an address without a path", "https://HOST/PATH");
  const auto path = std::string_view{name}.substr(end);
  const auto decoded = is == spelling::written ? percent_decoded(path) : std::string{path};
  if (!decoded)
    refuse("a \"%\" without two hexadecimal digits after it", "%25 for the character itself");
  if (std::count(decoded->begin(), decoded->end(), '/')
      != std::count(path.begin(), path.end(), '/'))
    refuse("%2F, a \"/\" that ends no folder", "a name without it");
  if (has_control_character(*decoded))
    refuse("a control character in an address", "printable ones");
  name_ += *decoded;
}

std::string web_address::url() const {
  return name_.substr(0, path_) + percent_encoded(std::string_view{name_}.substr(path_), true);
}

bool has_control_character(std::string_view text) noexcept {
  return std::any_of(text.begin(), text.end(),
                     [](char x) { return static_cast<unsigned char>(x) < ' ' || x == '\x7f'; });
}

std::optional<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i];
      continue;
    }
    const auto high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const auto low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
    if (high < 0 || low < 0)
      return {};
    decoded += static_cast<char>(16 * high + low);
    i += 2;
  }
  return decoded;
}

std::string percent_encoded(std::string_view text, bool keeps_slashes) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string encoded;
  for (const auto x : text) {
    const auto byte = static_cast<unsigned char>(x);
    if (is_unreserved(x) || (x == '/' && keeps_slashes))
      encoded += x;
    else
      encoded.append({'%', digits[byte >> 4], digits[byte & 15]});
  }
  return encoded;
}

} // namespace leat
