#include "runtime/network/machine_interfaces.hpp"

#include "runtime/storage/file_descriptor.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <memory>
#include <optional>

namespace leat {

namespace {

std::optional<ip_address> address_of(const ::sockaddr* from) {
  ip_address x;
  if (from && from->sa_family == AF_INET) {
    ::sockaddr_in v4{};
    std::memcpy(&v4, from, sizeof v4);
    std::memcpy(x.bytes.data(), &v4.sin_addr, sizeof v4.sin_addr);
    return x;
  }
  if (from && from->sa_family == AF_INET6) {
    ::sockaddr_in6 v6{};
    std::memcpy(&v6, from, sizeof v6);
    x.family = ip_family::v6;
    std::memcpy(x.bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
    return x;
  }
  return std::nullopt; // of another kind, or an interface without an address
}

} // namespace

std::vector<interface_address> read_machine_interfaces() {
  ::ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0)
    throw_errno("cluster", "network interfaces", "a list of this machine's addresses");
  const std::unique_ptr<::ifaddrs, decltype(&::freeifaddrs)> list{first, ::freeifaddrs};
  std::vector<interface_address> result;
  for (const auto* x = list.get(); x; x = x->ifa_next)
    if (const auto address = address_of(x->ifa_addr); address && (x->ifa_flags & IFF_UP) != 0)
      result.push_back({x->ifa_name, *address});
  return result;
}

} // namespace leat
