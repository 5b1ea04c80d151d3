#include "actors/cluster/dialer.hpp"

#include "actors/caf/keep_until_end.hpp"
#include "actors/caf/link.hpp"
#include "runtime/network/links/dial_peer.hpp"

#include <leat/error.hpp>

#include <caf/actor_cast.hpp>

#include <string>
#include <utility>

namespace leat {

namespace {

dial_answer failed(const error& x, bool is_unanswered = false) {
  return {.link = {},
          .problem = x.details().got,
          .needed = x.details().needed,
          .is_unanswered = is_unanswered};
}

dial_answer dial(dialer_actor::pointer self, const dialer_config& x, network_address to) {
  const dial_wish wish{.to = std::move(to),
                       .own = x.certificates ? x.certificates->now() : nullptr,
                       .expected = link_role::coordinator,
                       .hello = {.role = x.role, .token = x.token}};
  try {
    auto peer = dial_peer(wish, x.stop.get());
    const auto local = x.role == link_role::rank
                           ? caf::actor_cast<member_actor>(self->current_sender())
                           : member_actor{};
    return {.link = link_to_coordinator(self->system(), std::move(peer), local, x.role)};
  } catch (const link_unanswered& problem) {
    return failed(problem, true);
  } catch (const error& problem) {
    return failed(problem);
  }
}

} // namespace

dialer_actor::behavior_type dialer(dialer_actor::pointer self, const dialer_config& config,
                                   gate_token alive) {
  keep_until_end(self, std::move(alive));
  return {
      [self, config](dial_atom, const std::string& host, std::uint16_t port) {
        return dial(self, config, {host, port});
      },
  };
}

} // namespace leat
