#include "runtime/network/ip_address.hpp"

#include "runtime/base/text.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>

namespace leat {

namespace {

constexpr std::array<std::uint8_t, 12> mapped_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_mapped(const ip_address& x) noexcept {
  return x.family == ip_family::v6
         && std::equal(mapped_prefix.begin(), mapped_prefix.end(), x.bytes.begin());
}

ip_address unmapped(const ip_address& x) noexcept {
  ip_address result;
  std::copy_n(x.bytes.begin() + mapped_prefix.size(), 4, result.bytes.begin());
  return result;
}

int system_family(ip_family family) noexcept {
  return family == ip_family::v4 ? AF_INET : AF_INET6;
}

} // namespace

unsigned bits_of(ip_family family) noexcept {
  return family == ip_family::v4 ? 32 : 128;
}

std::optional<ip_address> parse_ip(std::string_view text) {
  if (text.size() >= INET6_ADDRSTRLEN || text.find('\0') != std::string_view::npos)
    return std::nullopt;
  const std::string terminated{text};
  ip_address x;
  x.family = text.find(':') == std::string_view::npos ? ip_family::v4 : ip_family::v6;
  if (::inet_pton(system_family(x.family), terminated.c_str(), x.bytes.data()) != 1)
    return std::nullopt;
  return is_mapped(x) ? unmapped(x) : x;
}

std::string to_string(const ip_address& x) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(system_family(x.family), x.bytes.data(), text.data(), text.size());
  return text.data();
}

bool is_loopback(const ip_address& x) noexcept {
  if (x.family == ip_family::v4)
    return x.bytes[0] == 127;
  return x.bytes[15] == 1
         && std::all_of(x.bytes.begin(), x.bytes.end() - 1, [](auto byte) { return byte == 0; });
}

bool is_link_local(const ip_address& x) noexcept {
  if (x.family == ip_family::v4)
    return x.bytes[0] == 169 && x.bytes[1] == 254;
  return x.bytes[0] == 0xfe && (x.bytes[1] & 0xc0) == 0x80;
}

bool is_unspecified(const ip_address& x) noexcept {
  return std::all_of(x.bytes.begin(), x.bytes.end(), [](auto byte) { return byte == 0; });
}

std::optional<ip_network> parse_network(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos)
    return std::nullopt;
  const auto address = parse_ip(text.substr(0, slash));
  const auto digits = text.substr(slash + 1);
  // A longer number has leading zeros, and from_chars would take a sign of other types.
  if (!address || digits.empty() || digits.size() > 3 || !is_digit(digits[0]))
    return std::nullopt;
  ip_network network{*address};
  const auto [end, problem] =
      std::from_chars(digits.data(), digits.data() + digits.size(), network.bits);
  const bool is_number = problem == std::errc{} && end == digits.data() + digits.size();
  if (!is_number || network.bits > bits_of(address->family))
    return std::nullopt;
  return network;
}

bool contains(const ip_network& network, const ip_address& x) noexcept {
  if (network.address.family != x.family)
    return false;
  const auto whole = network.bits / 8;
  const auto left = network.bits % 8;
  if (!std::equal(x.bytes.begin(), x.bytes.begin() + whole, network.address.bytes.begin()))
    return false;
  return left == 0 || (x.bytes[whole] ^ network.address.bytes[whole]) >> (8 - left) == 0;
}

} // namespace leat
