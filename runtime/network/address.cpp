#include "runtime/network/address.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/network/ip_address.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <charconv>
#include <optional>

namespace leat {

namespace {

constexpr auto address_form = "host:port, 10.0.0.5:port or [fd00::5]:port";
constexpr std::size_t longest_name = 253;

std::string lower(std::string_view text) {
  std::string result{text};
  for (auto& x : result)
    if (x >= 'A' && x <= 'Z')
      x = static_cast<char>(x - 'A' + 'a');
  return result;
}

/// Whether a resolver may take it for a name. Resolvers take "10.1" and "0x7f000001" for addresses,
/// which nobody means.
bool is_name(std::string_view text) {
  const auto fits = [](char x) { return is_word_char(x) || x == '-' || x == '.'; };
  const auto last = text.substr(text.rfind('.') + 1);
  return text.size() <= longest_name && std::all_of(text.begin(), text.end(), fits)
         && !last.starts_with("0x") && !std::all_of(last.begin(), last.end(), is_digit);
}

std::string host_of_ip(const ip_address& x, std::string_view text, const std::string& from) {
  if (needs_scope(x))
    refuse_argument(from, excerpt(text),
                    "an address that means the same everywhere: this one is local to a link");
  return to_string(x);
}

} // namespace

std::string parse_host(std::string_view text, const std::string& from) {
  if (const auto ip = parse_ip(text))
    return host_of_ip(*ip, text, from);
  auto name = lower(text);
  if (!is_name(name))
    refuse_argument(from, text.empty() ? "no host" : "host " + excerpt(text),
                    "a name, an IPv4 or an IPv6 address");
  return name;
}

std::uint16_t parse_port(std::string_view text, const std::string& from, port_rule rule) {
  unsigned port = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool is_number = problem == std::errc{} && end == text.data() + text.size();
  const bool is_plain = is_number && (text[0] != '0' || text.size() == 1);
  const unsigned least = rule == port_rule::any ? 0 : 1;
  if (!is_plain || port < least || port > 65535)
    refuse_argument(from, text.empty() ? "no port" : "port " + excerpt(text),
                    "a port from " + std::to_string(least) + " to 65535");
  return static_cast<std::uint16_t>(port);
}

network_address parse_address(std::string_view text, const std::string& from, port_rule rule) {
  if (text.starts_with('[')) {
    const auto end = text.find("]:");
    const auto ip =
        end == std::string_view::npos ? std::nullopt : parse_ip(text.substr(1, end - 1));
    if (!ip || text.substr(1, end - 1).find(':') == std::string_view::npos)
      refuse_argument(from, excerpt(text),
                      std::string{"an IPv6 address in brackets: "} + address_form);
    return {host_of_ip(*ip, text, from), parse_port(text.substr(end + 2), from, rule)};
  }
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos)
    refuse_argument(from, excerpt(text), address_form);
  if (text.find(':') != colon)
    refuse_argument(from, excerpt(text),
                    "an IPv6 address in brackets, then its port: [fd00::5]:port");
  return {parse_host(text.substr(0, colon), from), parse_port(text.substr(colon + 1), from, rule)};
}

std::string to_string(const network_address& x) {
  const bool is_v6 = x.host.find(':') != std::string::npos;
  return (is_v6 ? '[' + x.host + ']' : x.host) + ':' + std::to_string(x.port);
}

bool is_loopback(const network_address& x) {
  if (const auto ip = parse_ip(x.host))
    return is_loopback(*ip);
  return x.host == "localhost" || x.host.ends_with(".localhost");
}

} // namespace leat
