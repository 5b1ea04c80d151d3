#include "actors/cluster/dialer.hpp"

#include "actors/caf/keep_until_end.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <string>
#include <system_error>

namespace leat {

namespace {

using std::chrono::steady_clock;

/// A host that does not answer within this time counts as unreachable.
constexpr std::chrono::seconds dial_limit{3};

using address_list = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

std::string text_of(int number) {
  return std::generic_category().message(number);
}

/// Waits until the connection is made or has failed. Returns an errno; 0: it is made.
int wait_for_connection(int socket) {
  const auto end = steady_clock::now() + dial_limit;
  pollfd what{.fd = socket, .events = POLLOUT, .revents = 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now());
    const auto found = poll(&what, 1, static_cast<int>(std::max<long>(0, left.count())));
    if (found < 0 && errno == EINTR)
      continue;
    if (found < 0)
      return errno;
    if (found == 0)
      return ETIMEDOUT;
    int problem = 0;
    socklen_t size = sizeof problem;
    return getsockopt(socket, SOL_SOCKET, SO_ERROR, &problem, &size) != 0 ? errno : problem;
  }
}

int connect_to(const addrinfo& x) {
  const auto socket = opened([&] {
    return ::socket(x.ai_family, x.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, x.ai_protocol);
  });
  if (socket.get() < 0)
    return errno;
  if (connect(socket.get(), x.ai_addr, x.ai_addrlen) == 0)
    return 0;
  return errno == EINPROGRESS ? wait_for_connection(socket.get()) : errno;
}

/// Returns what went wrong; empty: somebody listens there.
std::string dial(const std::string& host, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const auto status = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (status != 0)
    return host + ": " + gai_strerror(status);
  const address_list all{found, &freeaddrinfo};
  int problem = 0;
  for (const auto* x = all.get(); x; x = x->ai_next) {
    problem = connect_to(*x);
    if (problem == 0)
      return {};
  }
  return host + ":" + std::to_string(port) + ": " + text_of(problem);
}

} // namespace

dialer_actor::behavior_type dialer(dialer_actor::pointer self, gate_token alive) {
  keep_until_end(self, std::move(alive));
  return {
      [](dial_atom, const std::string& host, std::uint16_t port) { return dial(host, port); },
  };
}

} // namespace leat
