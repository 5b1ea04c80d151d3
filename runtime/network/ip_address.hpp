#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

enum class ip_family : std::uint8_t { v4, v6 };

/// An IPv4 or IPv6 address, without a scope. An IPv4 address uses the first 4 bytes, and the others
/// are 0.
struct ip_address {
  ip_family family = ip_family::v4;
  /// In the order of the network.
  std::array<std::uint8_t, 16> bytes = {};

  friend bool operator==(const ip_address&, const ip_address&) = default;
};

/// Reads "10.0.0.5" or "fd00::1", as inet_pton does: no octal or short forms, no scope, no
/// brackets. An IPv4 address that is written as IPv6 ("::ffff:10.0.0.5") is that IPv4 address.
std::optional<ip_address> parse_ip(std::string_view text);

/// The canonical text, without brackets.
std::string to_string(const ip_address& x);

/// 127.0.0.0/8 and ::1
bool is_loopback(const ip_address& x) noexcept;

/// 169.254.0.0/16 and fe80::/10, which mean something else on each link.
bool is_link_local(const ip_address& x) noexcept;

/// fe80::/10, which is of no use without the name of an interface.
inline bool needs_scope(const ip_address& x) noexcept {
  return x.family == ip_family::v6 && is_link_local(x);
}

} // namespace leat
