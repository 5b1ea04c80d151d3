#include "runtime/network/links/stranger.hpp"

#include "runtime/network/address.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace leat {

namespace {

/// Bytes that may come from a peer that is refused.
constexpr std::size_t most_unheard = 64 << 10;

} // namespace

stranger::stranger(file_descriptor socket, const ip_address& ip, std::uint16_t port,
                   time_point came, time_point deadline, const admission& rules,
                   std::shared_ptr<const certificates> own)
    : socket_(std::move(socket)), ip_(ip), port_(port), came_(came), deadline_(deadline),
      greeting_(rules, std::move(own)) {}

short stranger::events() const noexcept {
  return out_.empty() ? POLLIN : POLLIN | POLLOUT;
}

std::string stranger::address() const {
  return to_string(network_address{to_string(ip_), port_});
}

bool stranger::advance(const std::function<std::shared_ptr<void>(link_role)>& take_place) {
  receive();
  if (state_ == greeting::state::admitted && !is_answered_) {
    is_answered_ = true;
    place_ = take_place(greeting_.hello().role.value());
    if (place_)
      greeting_.welcome(out_);
    else
      greeting_.refuse({refusal_reason::full, "too many connections to this process: it may have "
                                              "more with a higher limit (ulimit -n)"},
                       out_);
    if (!place_)
      state_ = greeting::state::refused;
  }
  send();
  return state_ == greeting::state::admitted && out_.empty() && !is_over_;
}

void stranger::receive() {
  std::array<char, 16 << 10> bytes; // NOLINT: filled below
  const auto n = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
  if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
    is_over_ = true;
  else if (n > 0 && state_ == greeting::state::open)
    state_ = greeting_.receive({bytes.data(), static_cast<std::size_t>(n)}, out_);
  else if (n > 0) // after a refusal, or before the welcome, by which it may speak
    is_over_ = state_ == greeting::state::admitted
               || (unheard_ += static_cast<std::size_t>(n)) > most_unheard;
}

void stranger::send() {
  if (is_over_)
    return;
  while (!out_.empty()) {
    const auto n = ::send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0) {
      is_over_ = errno != EAGAIN;
      return;
    }
    out_.erase(out_.begin(), out_.begin() + n);
  }
  // Closing at once would throw away what it has not read yet: why it is refused.
  if (is_refused() && !is_shut_) {
    is_shut_ = true;
    ::shutdown(socket_.get(), SHUT_WR);
  }
}

connected_peer stranger::release() {
  auto& hello = greeting_.hello();
  return {.socket = std::move(socket_),
          .layer = greeting_.release_layer(),
          .unread = {},
          .role = hello.role.value(),
          .protocol = greeting_.protocol(),
          .version = std::move(hello.version),
          .address = address(),
          .place = std::move(place_)};
}

} // namespace leat
