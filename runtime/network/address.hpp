#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace leat {

/// Where a process can be reached.
struct network_address {
  /// A name in lower case, or the canonical text of an IP address, without brackets.
  std::string host;
  std::uint16_t port = 0;

  friend bool operator==(const network_address&, const network_address&) = default;
};

enum class port_rule : std::uint8_t {
  /// 1 to 65535
  given,
  /// Also 0: the system chooses one.
  any,
};

/// Reads "host:port", "10.0.0.5:port" or "[fd00::5]:port". `from` stands in errors: the option or
/// variable that has the text. Throws `errc::invalid_argument`; also for a name that looks like a
/// number ("10.1"), which a resolver would take for some other address, and for an address that
/// needs the name of an interface (fe80::/10).
network_address parse_address(std::string_view text, const std::string& from,
                              port_rule rule = port_rule::given);

/// The host part of an address alone, in canonical form. Throws as `parse_address`.
std::string parse_host(std::string_view text, const std::string& from);

/// Reads a port: decimal, without sign and leading zeros. Throws as `parse_address`.
std::uint16_t parse_port(std::string_view text, const std::string& from,
                         port_rule rule = port_rule::given);

/// What `parse_address` reads.
std::string to_string(const network_address& x);

/// True if only processes of the same machine can reach the address: "localhost", 127.0.0.0/8, ::1.
/// Resolves nothing: a name that stands for such an address is not known to.
bool is_loopback(const network_address& x);

} // namespace leat
