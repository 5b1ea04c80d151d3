#include "runtime/network/listen_place.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/network/socket_address.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <utility>

namespace leat {

namespace {

using resolved_names = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;
using machine_addresses = std::vector<interface_address>;

[[noreturn]] void refuse(const std::string& from, const std::string& got, const std::string& needed,
                         const machine_addresses& machine) {
  error_details details{.stage = from, .got = got, .needed = needed};
  for (const auto& x : machine)
    details.list.push_back(x.interface + " " + to_string(x.address));
  if (machine.empty())
    details.list.emplace_back("this machine has no interface that is up");
  throw error(errc::invalid_argument, std::move(details));
}

/// How unlikely it is that an address is meant: the smallest is taken.
unsigned distance(const interface_address& x) {
  constexpr std::array made_for_containers{"docker", "br-",     "virbr", "veth",   "cni",
                                           "cali",   "flannel", "kube",  "podman", "lxc"};
  const bool is_made =
      std::any_of(made_for_containers.begin(), made_for_containers.end(),
                  [&](const char* prefix) { return x.interface.starts_with(prefix); });
  return (needs_scope(x.address) ? 16U : 0U) + (is_loopback(x.address) ? 8U : 0U)
         + (is_link_local(x.address) ? 4U : 0U) + (is_made ? 2U : 0U)
         + (x.address.family == ip_family::v6 ? 1U : 0U);
}

ip_address nearest(const machine_addresses& machine) {
  const auto best =
      std::min_element(machine.begin(), machine.end(),
                       [](const auto& a, const auto& b) { return distance(a) < distance(b); });
  if (best == machine.end() || needs_scope(best->address))
    refuse("bind", "no address", "an interface with an address, or host:port", machine);
  return best->address;
}

/// Which of a host's addresses to listen at: one of this machine's, loopback only if it has no
/// other.
ip_address own_address(const found_value<network_address>& wish, const machine_addresses& machine,
                       const resolve_name& resolve_host) {
  const auto& host = wish.value.host;
  const auto ip = parse_ip(host);
  const auto all = ip ? std::vector{*ip} : resolve_host(host, wish.source);
  std::string text;
  for (const auto& x : all) {
    if (!is_loopback(x) && std::any_of(machine.begin(), machine.end(), [&](const auto& y) {
          return y.address == x;
        }))
      return x;
    text += (text.empty() ? "" : ", ") + to_string(x);
  }
  const auto own =
      std::find_if(all.begin(), all.end(), [](const ip_address& x) { return is_loopback(x); });
  if (own == all.end())
    refuse(wish.source, ip ? host : host + ", which stands for " + text,
           "an address of this machine, or a name for one", machine);
  return *own;
}

[[noreturn]] void refuse_port(const ip_address& at, std::uint16_t port) {
  const int problem = errno;
  const char* needed = "a socket that listens there";
  if (problem == EADDRINUSE)
    needed = "a free port: another coordinator of this job may run, or another program uses it";
  else if (problem == EACCES)
    needed = "a port that this user may listen at: those from 1024 on, as a rule";
  throw io_error(problem, {.stage = "cluster",
                           .got = to_string(network_address{to_string(at), port}),
                           .needed = needed});
}

} // namespace

std::vector<interface_address> read_machine_interfaces() {
  ::ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0)
    throw_errno("cluster", "network interfaces", "a list of this machine's addresses");
  const std::unique_ptr<::ifaddrs, decltype(&::freeifaddrs)> list{first, ::freeifaddrs};
  std::vector<interface_address> result;
  for (const auto* x = list.get(); x; x = x->ifa_next)
    if (const auto address = ip_of(x->ifa_addr); address && (x->ifa_flags & IFF_UP) != 0)
      result.push_back({x->ifa_name, *address});
  return result;
}

std::vector<ip_address> resolve(const std::string& name, const std::string& from) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const auto status = getaddrinfo(name.c_str(), nullptr, &hints, &found);
  if (status != 0)
    refuse_argument(from, name + ": " + gai_strerror(status),
                    "a name that this machine can resolve, or an address");
  const resolved_names all{found, &freeaddrinfo};
  std::vector<ip_address> result;
  for (const auto* x = all.get(); x; x = x->ai_next)
    if (const auto address = ip_of(x->ai_addr))
      result.push_back(*address);
  return result;
}

listen_place choose_listen_place(const listen_wish& wish, const machine_addresses& machine,
                                 const resolve_name& resolve_host) {
  listen_place place{.at = {.bytes = {127, 0, 0, 1}}, .told = {}};
  if (wish.address) {
    place = {own_address(*wish.address, machine, resolve_host), wish.address->value};
  } else {
    if (wish.is_open())
      place.at = nearest(machine);
    place.told = {to_string(place.at), 0};
  }
  if (!wish.is_open() && !is_loopback(place.at))
    refuse_argument(
        wish.address->source,
        to_string(place.told) + ", which other machines can reach: what they send is not encrypted",
        "an address of this machine alone, such as 127.0.0.1:" + std::to_string(place.told.port)
            + "; certificates (leat certs), by --certs or LEAT_CLUSTER_CERTS; or, on a private "
              "network, --insecure or LEAT_CLUSTER_INSECURE=1");
  return place;
}

listening_socket listen_at(const ip_address& at, std::uint16_t port) {
  auto place = socket_address_of(at, port);
  auto socket = opened([&] {
    return ::socket(place.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  });
  if (!socket)
    refuse_port(at, port);
  // So that closing connections of a former process do not count.
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(socket.get(), place.raw(), place.size) != 0 || ::listen(socket.get(), SOMAXCONN) != 0
      || ::getsockname(socket.get(), place.raw(), &place.size) != 0)
    refuse_port(at, port);
  return {std::move(socket), place.port()};
}

} // namespace leat
