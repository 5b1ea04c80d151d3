#include "runtime/network/links/dial_socket.hpp"

#include "runtime/base/system_words.hpp"
#include "runtime/network/links/link_error.hpp"
#include "runtime/network/listen_place.hpp"
#include "runtime/network/socket_address.hpp"

#include <poll.h>

#include <cerrno>
#include <string>
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

} // namespace

file_descriptor dial_socket(const network_address& to, std::chrono::milliseconds patience,
                            const wake_event* stop) {
  int problem = EHOSTUNREACH;
  for (const auto& ip : addresses_of(to.host)) {
    const auto end = std::chrono::steady_clock::now() + patience;
    if (auto socket = connect_to(ip, to.port, stop, end))
      return socket;
    problem = errno;
  }
  break_link(system_words(problem), "a process that listens there");
}

} // namespace leat
