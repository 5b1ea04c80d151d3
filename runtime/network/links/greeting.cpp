#include "runtime/network/links/greeting.hpp"

#include "runtime/network/certs/peer_certificate.hpp"
#include "runtime/network/links/link_error.hpp"
#include "runtime/network/links/tls_session.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

/// A client's hello and its certificates are a few kilobytes.
constexpr std::size_t largest_handshake = 32 << 10;

} // namespace

greeting::greeting(const admission& rules, std::shared_ptr<const certificates> own)
    : rules_(rules), own_(std::move(own)) {
  if (!own_)
    layer_ = std::make_unique<plain_layer>();
}

greeting::state greeting::receive(std::string_view came, byte_buffer& out) {
  try {
    return advance(came, out);
  } catch (const error& problem) {
    if (problem.code() != errc::cluster)
      throw;
    why_ = problem.details().got;
    return state::refused;
  }
}

greeting::state greeting::advance(std::string_view came, byte_buffer& out) {
  if (!layer_) // not before the first byte: a session takes 55 KB
    layer_ = std::make_unique<tls_session>(own_, link_side::accepts);
  if (!is_secured_) {
    shaken_ += came.size();
    is_secured_ = layer_->shake_hands(came, out);
    if (shaken_ - came.size() > largest_handshake)
      break_link("a handshake of more than 32 KiB", "a shorter one");
    if (!is_secured_)
      return state::open;
  }
  while (const auto size = layer_->read(came, reader_.room(), out))
    if (const auto whole = reader_.filled(size)) {
      char more = 0;
      if (layer_->read(came, {&more, 1}, out) > 0)
        break_link("words after a hello", "a peer that waits for the answer");
      return hear(*whole, out);
    }
  return state::open;
}

greeting::state greeting::hear(const frame& x, byte_buffer& out) {
  auto hello = decode_link_hello(x.body());
  if (!hello)
    break_link("a hello that cannot be read", "one of leat");
  if (!rules_.token.is(hello->token.reveal()))
    break_link("a wrong token", "the job's");
  if (const auto fault = fault_of(*hello)) {
    refuse(*fault, out);
    return state::refused;
  }
  protocol_ = std::min(hello->protocol, rules_.newest_protocol);
  hello_ = std::move(*hello);
  return state::admitted;
}

std::optional<link_refusal> greeting::fault_of(const link_hello& x) const {
  if (auto fault =
          fault_of_protocol(x, rules_.least_protocol, rules_.newest_protocol, rules_.version))
    return fault;
  if (!x.role)
    break_link("a role that is not known", "one that is");
  const std::string role{to_string(*x.role)};
  const auto* peer = layer_->peer();
  if (peer && !roles_of(*peer).has(*x.role))
    return link_refusal{refusal_reason::wrong_role,
                        "the certificate " + name_of(*peer) + " is not one for a " + role
                            + ", its roles are: " + to_string(roles_of(*peer))};
  if (!rules_.roles.has(*x.role))
    return link_refusal{refusal_reason::wrong_role,
                        "a " + role
                            + " has dialed a process that admits: " + to_string(rules_.roles)};
  return std::nullopt;
}

void greeting::welcome(byte_buffer& out) {
  write_frame(*layer_, frame_kind::welcome, 0,
              encode(link_welcome{protocol_, rules_.version, rules_.as}), out);
}

void greeting::refuse(const link_refusal& x, byte_buffer& out) {
  why_ = x.text;
  write_frame(*layer_, frame_kind::refusal, 0, encode(x), out);
}

} // namespace leat
