#include "runtime/network/links/dial_peer.hpp"

#include "runtime/base/system_words.hpp"
#include "runtime/network/certs/peer_certificate.hpp"
#include "runtime/network/links/link_error.hpp"
#include "runtime/network/links/tls_session.hpp"
#include "runtime/network/links/waiting_link.hpp"
#include "runtime/network/listen_place.hpp"
#include "runtime/network/socket_address.hpp"

#include <poll.h>

#include <cerrno>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace leat {

namespace {

using time_point = std::chrono::steady_clock::time_point;

std::vector<ip_address> addresses_of(const std::string& host) {
  if (const auto ip = parse_ip(host))
    return {*ip};
  try {
    return resolve(host, "host");
  } catch (const error& problem) { // resolvers know some names only later
    break_link(problem.details().got, problem.details().needed);
  }
}

/// Waits until the connection is made. Returns an errno; 0: it is made.
int wait_for_connection(const file_descriptor& socket, const wake_event* stop, time_point end) {
  const int problem = wait_for_socket(socket, POLLOUT, stop, end);
  return problem == 0 ? problem_of_socket(socket) : problem;
}

/// Where nobody listens on this machine, the system may choose that very port for the side that
/// dials: it is connected to itself then.
bool is_own_end(const file_descriptor& socket) noexcept {
  socket_address here;
  socket_address there;
  return ::getsockname(socket.get(), here.raw(), &here.size) == 0
         && ::getpeername(socket.get(), there.raw(), &there.size) == 0
         && here.port() == there.port() && ip_of(here.raw()) == ip_of(there.raw());
}

/// Gives no descriptor if it fails; `errno` has the reason.
file_descriptor connect_to(const ip_address& ip, std::uint16_t port, const wake_event* stop,
                           time_point end) {
  auto place = socket_address_of(ip, port);
  auto socket = opened([&] {
    return ::socket(place.bytes.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  });
  if (!socket)
    return socket;
  int problem = ::connect(socket.get(), place.raw(), place.size) == 0 ? 0 : errno;
  if (problem == EINPROGRESS)
    problem = wait_for_connection(socket, stop, end);
  if (problem == 0 && is_own_end(socket))
    problem = ECONNREFUSED;
  if (problem == 0)
    return socket;
  errno = problem;
  return {};
}

file_descriptor connect_to_any(const dial_wish& wish, const wake_event* stop) {
  int problem = EHOSTUNREACH;
  for (const auto& ip : addresses_of(wish.to.host)) {
    const auto end = std::chrono::steady_clock::now() + wish.connect_patience;
    if (auto socket = connect_to(ip, wish.to.port, stop, end))
      return socket;
    problem = errno;
  }
  break_link(system_words(problem), "a process that listens there");
}

void check_peer(const X509* x, const dial_wish& wish) {
  if (!x)
    return;
  if (!roles_of(*x).has(wish.expected))
    break_link("the certificate " + name_of(*x) + ", whose roles are: " + to_string(roles_of(*x)),
               "one for a " + std::string{to_string(wish.expected)});
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
  auto socket = connect_to_any(wish, stop);
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
  connected_peer peer{.unread = std::string{link.unread()},
                      .role = wish.expected,
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
