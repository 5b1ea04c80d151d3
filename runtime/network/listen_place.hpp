#pragma once

#include "runtime/network/launcher_environment.hpp"
#include "runtime/network/local_interface.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace leat {

/// What the user said about where to listen. At most one of `address` and `interface` is set.
struct listen_wish {
  /// Port 0: the system chooses one.
  std::optional<found_value<network_address>> address = {};
  /// As for `choose_local_address`.
  std::optional<found_value<std::string>> interface = {};
  /// Without `address`: the port.
  std::uint16_t port = 0;
  /// Other machines may connect.
  bool is_insecure = false;
};

/// Where a process listens, and what it tells others.
struct listen_place {
  ip_address at;
  network_address told;
};

/// The addresses that a name stands for. Throws `errc::invalid_argument`, with what the resolver
/// says.
using resolve_name =
    std::function<std::vector<ip_address>(const std::string& name, const std::string& from)>;

/// Asks the system's resolver, which may take seconds.
std::vector<ip_address> resolve(const std::string& name, const std::string& from);

/// Where to listen: at the wish; where there is none, on loopback, or, if that is insecure, at the
/// first address that other machines can use. A name must stand for an address of this machine, and
/// others hear it as it was given. Throws `errc::invalid_argument`, which says what to do, also for
/// an address that other machines can reach where nobody said that this is meant.
listen_place choose_listen_place(const listen_wish& wish,
                                 const std::vector<interface_address>& machine,
                                 const resolve_name& resolve_host);

/// Makes sure that this process can listen there, and gives the port: a free one for 0. Throws
/// `errc::io` with what the system says.
std::uint16_t find_listen_port(const ip_address& at, std::uint16_t port);

} // namespace leat
