#pragma once

#include "runtime/network/ip_address.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// One address of this machine.
struct interface_address {
  /// "eth0"; an interface has one entry for each of its addresses.
  std::string interface;
  ip_address address;
};

/// The address at which this process listens, and which it tells others. `wish` says which:
///
/// - an address, which must be one of the machine's;
/// - a network ("10.0.0.0/8"): the first address in it;
/// - the name of an interface ("eth0"): its first IPv4 address, otherwise its first IPv6 address;
/// - empty: the first address that other machines can use, IPv4 before IPv6; addresses of bridges
///   and tunnels that container runtimes make ("docker0", "virbr0", "cni0") only if there is no
///   other, then those that are local to a link, and loopback last.
///
/// Addresses in fe80::/10 are never taken. Throws `errc::invalid_argument` with a list
/// of all addresses that there are; `from` names the option or variable of the wish.
ip_address choose_local_address(std::string_view wish,
                                const std::vector<interface_address>& machine,
                                const std::string& from);

} // namespace leat
