#pragma once

#include "runtime/network/address.hpp"
#include "runtime/network/certs/certificates.hpp"
#include "runtime/network/certs/peer_certificate.hpp"
#include "runtime/network/links/connected_peer.hpp"
#include "runtime/network/links/link_hello.hpp"
#include "runtime/network/links/wake_event.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace leat {

/// Whom to dial, and what to say.
struct dial_wish {
  network_address to = {};
  /// Null: without TLS.
  std::shared_ptr<const certificates> own = {};
  /// What the other side may be, as its certificate and its answer say.
  link_roles expected = link_role::coordinator;
  link_hello hello = {};
  /// For all of it but the resolver, which has its own.
  std::chrono::milliseconds patience{10'000};
  /// For each address that a name stands for.
  std::chrono::milliseconds connect_patience{3'000};
};

/// What a process says to one that it does not admit although it knows the token.
class link_refused : public error {
public:
  explicit link_refused(const link_refusal& x);

  refusal_reason reason() const noexcept { return reason_; }

private:
  refusal_reason reason_;
};

/// Somebody is there who does not answer: a process with another token, or one that does not take
/// this one's certificate.
class link_unanswered : public error {
public:
  link_unanswered(const network_address& by, const std::string& what_came);
};

/// Connects to a process, makes sure who it is, and says the first words; waits meanwhile, so call
/// it in a thread of its own. `stop` may be null. Throws `link_refused`, `link_unanswered`,
/// otherwise `errc::cluster` with the reason, and `errc::interrupted` once `stop` is set.
connected_peer dial_peer(const dial_wish& wish, const wake_event* stop);

} // namespace leat
