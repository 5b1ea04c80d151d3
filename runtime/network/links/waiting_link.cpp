#include "runtime/network/links/waiting_link.hpp"

#include "runtime/base/system_words.hpp"
#include "runtime/network/links/link_error.hpp"
#include "runtime/network/links/socket_bytes.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
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
  for (iovec rest{out_.data(), out_.size()}; rest.iov_len > 0;)
    if (const auto n = send_some(socket_, {&rest, 1}))
      rest = {static_cast<char*>(rest.iov_base) + n, rest.iov_len - n};
    else
      wait(POLLOUT, deadline);
  out_.clear();
}

void waiting_link::fill(time_point deadline) {
  for (iovec room{buffer_.data(), buffer_.size()}; came_.empty();)
    if (const auto n = receive_some(socket_, {&room, 1}))
      came_ = {buffer_.data(), n};
    else
      wait(POLLIN, deadline);
}

void waiting_link::wait(short events, time_point deadline) const {
  const int problem = wait_for_socket(socket_, events, stop_, deadline);
  if (problem == ETIMEDOUT)
    break_link("no answer in time", "a peer that answers");
  if (problem != 0)
    break_link(system_words(problem), "a connection that can be waited for");
}

void waiting_link::try_flush() noexcept {
  if (!out_.empty())
    (void)::send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

} // namespace leat
