#include "runtime/network/ip_address.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>

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

} // namespace leat
