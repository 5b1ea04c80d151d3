#pragma once

#include "runtime/network/ip_address.hpp"
#include "runtime/network/launcher_environment.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace leat {

/// Where the user wants to listen.
struct listen_wish {
  /// Port 0: the system chooses one.
  std::optional<found_value<network_address>> address = {};
  /// Other machines may connect, since the network is private.
  bool is_insecure = false;
  /// Other machines may connect, since they have to show certificates.
  bool is_secured = false;

  bool is_open() const noexcept { return is_insecure || is_secured; }
};

/// Where a process listens, and what it tells others.
struct listen_place {
  ip_address at;
  network_address told;
};

/// One address of this machine.
struct interface_address {
  /// "eth0"; an interface has one entry for each of its addresses.
  std::string interface;
  ip_address address;
};

/// The addresses of this machine's interfaces that are up, in the system's order. Throws `errc::io`
/// or `errc::no_resources`.
std::vector<interface_address> read_machine_interfaces();

/// The addresses that a name stands for. Throws `errc::invalid_argument`, with what the resolver
/// says.
using resolve_name =
    std::function<std::vector<ip_address>(const std::string& name, const std::string& from)>;

/// Asks the system's resolver, which may take seconds.
std::vector<ip_address> resolve(const std::string& name, const std::string& from);

/// Where to listen: at the wish; where there is none, at a port of the system's choice on loopback,
/// or, if that is open, at the first address that other machines can use: IPv4 before IPv6;
/// addresses of bridges and tunnels that container runtimes make ("docker0") only if there is no
/// other, then those that are local to a link, and loopback last. A name must stand for an address
/// of this machine; others are given the name as it is. Throws `errc::invalid_argument`, which says
/// what to do, also for an address that other machines can reach unless `is_open`.
listen_place choose_listen_place(const listen_wish& wish,
                                 const std::vector<interface_address>& machine,
                                 const resolve_name& resolve_host);

/// A socket that listens, without blocking whoever accepts.
struct listening_socket {
  file_descriptor socket;
  std::uint16_t port = 0;
};

/// Listens there, for port 0 at a free one. Throws `errc::io` with what the system says.
listening_socket listen_at(const ip_address& at, std::uint16_t port);

} // namespace leat
