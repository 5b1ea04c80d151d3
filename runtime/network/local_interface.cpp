#include "runtime/network/local_interface.hpp"

#include "runtime/base/text.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

namespace leat {

namespace {

using addresses = std::vector<interface_address>;

[[noreturn]] void refuse(const std::string& from, const std::string& got, const std::string& needed,
                         const addresses& machine) {
  error_details details{.stage = from, .got = got, .needed = needed};
  for (const auto& x : machine)
    details.list.push_back(x.interface + " " + to_string(x.address));
  if (machine.empty())
    details.list.emplace_back("this machine has no interface that is up");
  throw error(errc::invalid_argument, std::move(details));
}

/// How far an address is from what is usually meant, where nothing was wished for.
unsigned distance(const interface_address& x) {
  constexpr std::array made_for_containers{"docker", "br-",     "virbr", "veth",   "cni",
                                           "cali",   "flannel", "kube",  "podman", "lxc"};
  const bool is_made =
      std::any_of(made_for_containers.begin(), made_for_containers.end(),
                  [&](const char* prefix) { return x.interface.starts_with(prefix); });
  return (is_loopback(x.address) ? 8U : 0U) + (is_link_local(x.address) ? 4U : 0U)
         + (is_made ? 2U : 0U) + (x.address.family == ip_family::v6 ? 1U : 0U);
}

/// The nearest of those that fit, the first one among equals.
std::optional<ip_address> nearest(const addresses& machine,
                                  const std::function<bool(const interface_address&)>& fits) {
  const interface_address* best = nullptr;
  for (const auto& x : machine)
    if (!needs_scope(x.address) && fits(x) && (!best || distance(x) < distance(*best)))
      best = &x;
  return best ? std::optional{best->address} : std::nullopt;
}

ip_address of_address(const ip_address& wish, const addresses& machine, const std::string& from) {
  const auto text = to_string(wish);
  if (is_unspecified(wish))
    refuse(from, text, "one address: leat listens at no more than one", machine);
  if (needs_scope(wish))
    refuse(from, text, "an address that means the same everywhere: this one is local to a link",
           machine);
  const auto found = nearest(machine, [&](const auto& x) { return x.address == wish; });
  if (!found)
    refuse(from, text, "an address of this machine", machine);
  return *found;
}

ip_address of_network(std::string_view wish, const addresses& machine, const std::string& from) {
  const auto network = parse_network(wish);
  if (!network)
    refuse(from, excerpt(wish), "a network, such as 10.0.0.0/8 or fd00::/8", machine);
  for (const auto& x : machine)
    if (!needs_scope(x.address) && contains(*network, x.address))
      return x.address;
  refuse(from, std::string{wish}, "a network that this machine has an address in", machine);
}

ip_address of_interface(std::string_view name, const addresses& machine, const std::string& from) {
  const auto found = nearest(machine, [&](const auto& x) { return x.interface == name; });
  if (!found)
    refuse(from, excerpt(name),
           "an address or a network of this machine, or an interface that has an address", machine);
  return *found;
}

} // namespace

ip_address choose_local_address(std::string_view wish, const addresses& machine,
                                const std::string& from) {
  if (wish.find('/') != std::string_view::npos)
    return of_network(wish, machine, from);
  if (const auto address = parse_ip(wish))
    return of_address(*address, machine, from);
  if (!wish.empty())
    return of_interface(wish, machine, from);
  const auto found = nearest(machine, [](const auto&) { return true; });
  if (!found)
    refuse(from, "no wish", "an interface with an address", machine);
  return *found;
}

} // namespace leat
