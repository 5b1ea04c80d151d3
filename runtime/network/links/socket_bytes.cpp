#include "runtime/network/links/socket_bytes.hpp"

#include "runtime/base/system_words.hpp"
#include "runtime/base/uninterrupted.hpp"
#include "runtime/network/links/link_error.hpp"

#include <sys/socket.h>

#include <cerrno>

namespace leat {

namespace {

msghdr message_of(std::span<iovec> x) noexcept {
  msghdr message{};
  message.msg_iov = x.data();
  message.msg_iovlen = x.size();
  return message;
}

/// Of a call that gave `n`: 0 where it would have to wait.
std::size_t size_or_break(ssize_t n) {
  if (n >= 0)
    return static_cast<std::size_t>(n);
  if (errno != EAGAIN)
    throw link_ended(system_words(errno));
  return 0;
}

} // namespace

std::size_t receive_some(const file_descriptor& socket, std::span<iovec> into) {
  auto message = message_of(into);
  const auto n = uninterrupted([&] { return ::recvmsg(socket.get(), &message, MSG_DONTWAIT); });
  if (n == 0)
    throw link_ended("the peer has ended the connection");
  return size_or_break(n);
}

std::size_t send_some(const file_descriptor& socket, std::span<iovec> bytes) {
  auto message = message_of(bytes);
  return size_or_break(uninterrupted(
      [&] { return ::sendmsg(socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT); }));
}

} // namespace leat
