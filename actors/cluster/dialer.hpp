#pragma once

#include "messages/cluster/interfaces.hpp"
#include "runtime/base/secret.hpp"
#include "runtime/base/threads/gate.hpp"
#include "runtime/network/certs/renewed_certificates.hpp"
#include "runtime/network/links/wake_event.hpp"

#include <leat/certificates.hpp>

#include <caf/typed_event_based_actor.hpp>

#include <memory>

namespace leat {

struct dialer_config {
  /// As what the process comes: a rank, which asks by its member, or an observer.
  link_role role = link_role::rank;
  secret token = {};
  /// Null: without TLS.
  std::shared_ptr<renewed_certificates> certificates = {};
  /// Set before the exit message, so that nobody waits for a host that does not answer.
  std::shared_ptr<const wake_event> stop = std::make_shared<wake_event>();
};

/// Spawn in a thread of its own: it looks up names and waits for answers. Lives until an exit
/// message.
dialer_actor::behavior_type dialer(dialer_actor::pointer self, const dialer_config& config,
                                   gate_token alive);

} // namespace leat
