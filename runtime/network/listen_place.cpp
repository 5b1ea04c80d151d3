#include "runtime/network/listen_place.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

namespace leat {

namespace {

using resolved_names = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;
using machine_addresses = std::vector<interface_address>;

std::string addresses_text(const std::vector<ip_address>& all) {
  std::string text;
  for (const auto& x : all)
    text += (text.empty() ? "" : ", ") + to_string(x);
  return text;
}

/// The one of a name's addresses to listen at: any of this machine's before its loopback.
ip_address address_of_name(const std::string& name, const std::string& from,
                           const machine_addresses& machine, const resolve_name& resolve_host) {
  const auto all = resolve_host(name, from);
  const auto is_own = [&](const ip_address& x) {
    return std::any_of(machine.begin(), machine.end(),
                       [&](const auto& y) { return y.address == x; });
  };
  for (const auto& x : all)
    if (!is_loopback(x) && is_own(x))
      return x;
  for (const auto& x : all)
    if (is_loopback(x))
      return x;
  error_details details{.stage = from,
                        .got = name + ", which stands for " + addresses_text(all),
                        .needed = "a name or an address of this machine"};
  for (const auto& x : machine)
    details.list.push_back(x.interface + " " + to_string(x.address));
  throw error(errc::invalid_argument, std::move(details));
}

listen_place place_at(const ip_address& x, std::uint16_t port) {
  return {x, {to_string(x), port}};
}

/// Where the wish is, and what said so.
std::pair<listen_place, std::string> find_place(const listen_wish& wish,
                                                const machine_addresses& machine,
                                                const resolve_name& resolve_host) {
  if (wish.interface)
    return {place_at(choose_local_address(wish.interface->value, machine, wish.interface->source),
                     wish.port),
            wish.interface->source};
  if (!wish.address)
    return {place_at(wish.is_insecure ? choose_local_address({}, machine, "bind")
                                      : ip_address{.bytes = {127, 0, 0, 1}},
                     wish.port),
            "bind"};
  const auto& [value, from] = *wish.address;
  const auto ip = parse_ip(value.host);
  if (!ip)
    return {{address_of_name(value.host, from, machine, resolve_host), value}, from};
  const bool is_all_own = is_loopback(*ip) && ip->family == ip_family::v4; // 127.0.0.0/8
  return {place_at(is_all_own ? *ip : choose_local_address(value.host, machine, from), value.port),
          from};
}

struct socket_address {
  sockaddr_storage bytes = {};
  socklen_t size = 0;
};

socket_address socket_address_of(const ip_address& x, std::uint16_t port) {
  socket_address to;
  if (x.family == ip_family::v4) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, x.bytes.data(), sizeof v4.sin_addr);
    std::memcpy(&to.bytes, &v4, sizeof v4);
    to.size = sizeof v4;
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, x.bytes.data(), sizeof v6.sin6_addr);
    std::memcpy(&to.bytes, &v6, sizeof v6);
    to.size = sizeof v6;
  }
  return to;
}

ip_address ip_of(const sockaddr* x) {
  ip_address to;
  if (x->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, x, sizeof v4);
    std::memcpy(to.bytes.data(), &v4.sin_addr, sizeof v4.sin_addr);
  } else {
    sockaddr_in6 v6{};
    std::memcpy(&v6, x, sizeof v6);
    to.family = ip_family::v6;
    std::memcpy(to.bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
  }
  return to;
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
    if (x->ai_family == AF_INET || x->ai_family == AF_INET6)
      result.push_back(ip_of(x->ai_addr));
  return result;
}

listen_place choose_listen_place(const listen_wish& wish, const machine_addresses& machine,
                                 const resolve_name& resolve_host) {
  auto [place, from] = find_place(wish, machine, resolve_host);
  if (!wish.is_insecure && !is_loopback(place.at))
    refuse_argument(from,
                    to_string(place.told)
                        + ", which other machines can reach: what they send is "
                          "not encrypted",
                    "an address of this machine alone, such as 127.0.0.1:"
                        + std::to_string(place.told.port)
                        + "; or, on a private network, --insecure or LEAT_CLUSTER_INSECURE=1");
  return place;
}

std::uint16_t find_listen_port(const ip_address& at, std::uint16_t port) {
  const auto socket = opened([&] {
    return ::socket(at.family == ip_family::v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  });
  if (!socket)
    refuse_port(at, port);
  // As whoever listens later does: connections of a former process that are closing do not count.
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  auto address = socket_address_of(at, port);
  auto* raw = reinterpret_cast<sockaddr*>(&address.bytes); // NOLINT: as the system's calls want it
  if (::bind(socket.get(), raw, address.size) != 0 || ::listen(socket.get(), 1) != 0
      || ::getsockname(socket.get(), raw, &address.size) != 0)
    refuse_port(at, port);
  if (at.family == ip_family::v6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, &address.bytes, sizeof v6);
    return ntohs(v6.sin6_port);
  }
  sockaddr_in v4{};
  std::memcpy(&v4, &address.bytes, sizeof v4);
  return ntohs(v4.sin_port);
}

} // namespace leat
