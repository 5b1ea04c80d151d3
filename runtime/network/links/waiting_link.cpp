#include "runtime/network/links/waiting_link.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/system_words.hpp"
#include "runtime/network/links/link_error.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace leat {

namespace {

constexpr std::size_t receive_bytes = 64 << 10;

} // namespace

waiting_link::waiting_link(file_descriptor socket, std::unique_ptr<byte_layer> layer,
                           std::string_view unread, const wake_event* stop)
    : socket_(std::move(socket)), layer_(std::move(layer)), stop_(stop),
      buffer_(std::max(receive_bytes, unread.size())) {
  unread.copy(buffer_.data(), unread.size());
  came_ = {buffer_.data(), unread.size()};
}

void waiting_link::shake_hands(time_point deadline) {
  for (;;)
    try {
      const bool is_over = layer_->shake_hands(came_, out_);
      flush(deadline);
      if (is_over)
        return;
      fill(deadline);
    } catch (const error&) {
      try_flush();
      throw;
    }
}

void waiting_link::send(frame_kind kind, std::uint64_t number, std::string_view body,
                        time_point deadline) {
  write_frame(*layer_, kind, number, body, out_);
  flush(deadline);
}

frame waiting_link::receive(const frame_rules& rules, time_point deadline) {
  frame_reader reader{rules};
  for (;;) {
    const auto size = layer_->read(came_, reader.room(), out_);
    if (!out_.empty())
      flush(deadline);
    if (size == 0)
      fill(deadline);
    else if (auto whole = reader.filled(size))
      return std::move(*whole);
  }
}

void waiting_link::flush(time_point deadline) {
  std::size_t sent = 0;
  while (sent < out_.size()) {
    const auto n =
        ::send(socket_.get(), out_.data() + sent, out_.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0)
      sent += static_cast<std::size_t>(n);
    else if (errno == EAGAIN)
      wait(POLLOUT, deadline);
    else if (errno != EINTR)
      throw link_ended(system_words(errno));
  }
  out_.clear();
}

void waiting_link::fill(time_point deadline) {
  if (!came_.empty())
    return;
  for (;;) {
    const auto n = ::recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (n > 0) {
      came_ = {buffer_.data(), static_cast<std::size_t>(n)};
      return;
    }
    if (n == 0)
      throw link_ended("the peer has ended the connection");
    if (errno == EAGAIN)
      wait(POLLIN, deadline);
    else if (errno != EINTR)
      throw link_ended(system_words(errno));
  }
}

void waiting_link::wait(short events, time_point deadline) const {
  std::array<pollfd, 2> all{pollfd{socket_.get(), events, 0},
                            pollfd{stop_ ? stop_->descriptor() : -1, POLLIN, 0}};
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    const auto most = std::clamp<std::int64_t>(left.count(), 0, INT32_MAX);
    const int n = ::poll(all.data(), all.size(), static_cast<int>(most));
    if (all[1].revents != 0)
      throw_error(errc::interrupted, "link", "the end of what needs the connection", "");
    if (n > 0)
      return;
    if (n == 0)
      break_link("no answer in time", "a peer that answers");
    if (errno != EINTR)
      break_link(system_words(errno), "a connection that can be waited for");
  }
}

void waiting_link::try_flush() noexcept {
  if (!out_.empty())
    (void)::send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

} // namespace leat
