#include "runtime/network/links/dial_peer.hpp"

#include "runtime/network/certs/peer_certificate.hpp"
#include "runtime/network/links/dial_socket.hpp"
#include "runtime/network/links/link_error.hpp"
#include "runtime/network/links/tls_session.hpp"
#include "runtime/network/links/waiting_link.hpp"
#include "runtime/network/socket_address.hpp"

#include <string>
#include <tuple>
#include <utility>

namespace leat {

namespace {

using time_point = std::chrono::steady_clock::time_point;

void check_peer(const X509* x, const dial_wish& wish) {
  if (!x)
    return;
  if (!roles_of(*x).has_any(wish.expected))
    break_link("the certificate " + name_of(*x) + ", whose roles are: " + to_string(roles_of(*x)),
               "one for a " + to_string(wish.expected));
  if (!is_of_host(*x, wish.to.host))
    break_link("the certificate " + name_of(*x) + ", which is not for " + wish.to.host,
               "one for that host (leat certs issue ... --host " + wish.to.host + ")");
}

link_welcome read_answer(const frame& x, const link_hello& said) {
  if (x.kind() == frame_kind::refusal)
    if (const auto refusal = decode_link_refusal(x.body()))
      throw link_refused(*refusal);
  const auto welcome = decode_link_welcome(x.body());
  if (x.kind() != frame_kind::welcome || !welcome || welcome->protocol < said.least_protocol
      || welcome->protocol > said.protocol)
    break_link("something other than an answer to a hello", "a process of leat that listens there");
  return *welcome;
}

frame receive_answer(waiting_link& link, const dial_wish& wish, time_point end) {
  try {
    return link.receive(answer_rules(), end);
  } catch (const error& problem) {
    if (problem.code() != errc::cluster || std::chrono::steady_clock::now() >= end)
      throw;
    throw link_unanswered(wish.to, problem.details().got);
  }
}

/// Whoever has no certificates takes the handshake for noise, and ends the connection.
void shake_hands(waiting_link& link, const dial_wish& wish, time_point end) {
  try {
    link.shake_hands(end);
  } catch (const link_ended& problem) {
    throw link_unanswered(wish.to, problem.details().got);
  }
}

connected_peer talk_to(const dial_wish& wish, const wake_event* stop) {
  auto socket = dial_socket(wish.to, wish.connect_patience, stop);
  prepare_connection(socket);
  const auto end = std::chrono::steady_clock::now() + wish.patience;
  std::unique_ptr<byte_layer> layer = std::make_unique<plain_layer>();
  if (wish.own)
    layer = std::make_unique<tls_session>(wish.own, link_side::dials);
  waiting_link link{std::move(socket), std::move(layer), {}, stop};
  shake_hands(link, wish, end);
  check_peer(link.layer().peer(), wish);
  link.send(frame_kind::hello, 0, encode(wish.hello), end);
  const auto welcome = read_answer(receive_answer(link, wish, end), wish.hello);
  if (!welcome.role || !wish.expected.has(*welcome.role))
    break_link(
        "an answer of a "
            + (welcome.role ? std::string{to_string(*welcome.role)} : "role that is not known"),
        "that of a " + to_string(wish.expected));
  const auto* certificate = link.layer().peer();
  if (certificate && !roles_of(*certificate).has(*welcome.role))
    break_link("an answer of a " + std::string{to_string(*welcome.role)}
                   + ", which its certificate does not name",
               "that of a " + to_string(roles_of(*certificate)));
  connected_peer peer{.unread = std::string{link.unread()},
                      .role = *welcome.role,
                      .protocol = welcome.protocol,
                      .version = welcome.version,
                      .address = to_string(wish.to)};
  std::tie(peer.socket, peer.layer) = std::move(link).release();
  return peer;
}

} // namespace

link_refused::link_refused(const link_refusal& x)
    : error(errc::cluster, {.stage = "link", .got = x.text}), reason_(x.reason) {}

link_unanswered::link_unanswered(const network_address& by, const std::string& what_came)
    : error(errc::cluster,
            {.stage = "link",
             .got = "somebody listens there who has not answered: a process with another token "
                    "(LEAT_CLUSTER_TOKEN), with other certificates, or without ("
                    + to_string(by) + ": " + what_came + ")",
             .needed =
                 "the same token in all processes of a job, and certificates of one authority"}) {}

connected_peer dial_peer(const dial_wish& wish, const wake_event* stop) {
  try {
    return talk_to(wish, stop);
  } catch (const link_refused&) {
    throw;
  } catch (const link_unanswered&) {
    throw;
  } catch (const error& problem) {
    if (problem.code() != errc::cluster)
      throw;
    break_link(to_string(wish.to) + ": " + problem.details().got, problem.details().needed);
  }
}

} // namespace leat
