#include "runtime/network/socket_address.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cerrno>
#include <cstring>

namespace leat {

namespace {

template <class Option>
void set_option(const file_descriptor& socket, int level, int name, Option x) noexcept {
  (void)::setsockopt(socket.get(), level, name, &x, sizeof x);
}

} // namespace

std::uint16_t socket_address::port() const noexcept {
  if (bytes.ss_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &bytes, sizeof v4);
    return ntohs(v4.sin_port);
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, &bytes, sizeof v6);
  return bytes.ss_family == AF_INET6 ? ntohs(v6.sin6_port) : std::uint16_t{0};
}

socket_address socket_address_of(const ip_address& ip, std::uint16_t port) noexcept {
  socket_address x;
  if (ip.family == ip_family::v4) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, ip.bytes.data(), sizeof v4.sin_addr);
    std::memcpy(&x.bytes, &v4, x.size = sizeof v4);
  } else {
    sockaddr_in6 v6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    std::memcpy(&v6.sin6_addr, ip.bytes.data(), sizeof v6.sin6_addr);
    std::memcpy(&x.bytes, &v6, x.size = sizeof v6);
  }
  return x;
}

std::optional<ip_address> ip_of(const sockaddr* x) noexcept {
  ip_address to;
  if (x && x->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, x, sizeof v4);
    std::memcpy(to.bytes.data(), &v4.sin_addr, sizeof v4.sin_addr);
    return to;
  }
  if (x && x->sa_family == AF_INET6) {
    sockaddr_in6 v6{};
    std::memcpy(&v6, x, sizeof v6);
    to.family = ip_family::v6;
    std::memcpy(to.bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
    return to;
  }
  return std::nullopt;
}

void prepare_connection(const file_descriptor& socket) noexcept {
  constexpr int patience = 60; // seconds
  constexpr int asked_each = 20;
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 1000U * patience);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, asked_each);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, asked_each);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, patience / asked_each);
}

int problem_of_socket(const file_descriptor& socket) noexcept {
  int problem = 0;
  socklen_t size = sizeof problem;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &problem, &size) == 0 ? problem : errno;
}

} // namespace leat
