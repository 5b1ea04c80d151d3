#include "runtime/sources/feed/inputs/queue_connection.hpp"

#include "runtime/base/system_words.hpp"
#include "runtime/network/links/dial_socket.hpp"
#include "runtime/network/links/socket_bytes.hpp"
#include "runtime/network/socket_address.hpp"

#include <poll.h>

#include <algorithm>
#include <span>
#include <utility>

namespace leat {

namespace {

constexpr std::chrono::milliseconds queue_dial_patience{10'000};
constexpr std::chrono::seconds queue_send_patience{60};
constexpr std::chrono::seconds queue_handshake_patience{10};
constexpr std::size_t sealed_bytes_at_once = std::size_t{64} << 10;
constexpr std::size_t least_received_at_once = std::size_t{64} << 10;
constexpr std::size_t most_received_at_once = std::size_t{1} << 20;

/// What links say of a connection that has ended, as a queue's.
template <class Call>
auto as_queue_lost(Call call) {
  try {
    return call();
  } catch (const error& x) {
    if (x.code() != errc::cluster)
      throw;
    throw queue_lost(x.details().got);
  }
}

} // namespace

queue_lost::queue_lost(std::string why)
    : error(errc::io, {.stage = "feed's input", .got = std::move(why)}) {}

queue_connection::queue_connection(const network_address& to, const wake_event& stop)
    : host_(to.host), stop_(stop), socket_(as_queue_lost([&] {
        auto made = dial_socket(to, queue_dial_patience, &stop);
        prepare_connection(made);
        return made;
      })) {}

/// Throws `queue_lost` at `end`, too.
void queue_connection::wait(short events, time_point end) const {
  if (const int problem = wait_for_socket(socket_, events, &stop_, end))
    throw queue_lost(system_words(problem));
}

void queue_connection::secure(const std::shared_ptr<const server_trust>& by) {
  if (!unread().empty()) // nobody has proven to have said that
    throw queue_lost("bytes of a server that precede TLS");
  through_ = std::make_unique<server_tls>(by, host_);
  sealed_.resize(sealed_bytes_at_once);
  const auto end = std::chrono::steady_clock::now() + queue_handshake_patience;
  for (bool is_over = false; !is_over;) {
    is_over = as_queue_lost([&] { return through_->shake_hands(came_); });
    while (!flush())
      wait(POLLOUT, end);
    if (is_over || !came_.empty())
      continue;
    wait(POLLIN, end);
    iovec part{sealed_.data(), sealed_.size()};
    came_ = {sealed_.data(), as_queue_lost([&] {
               return receive_some(socket_, std::span{&part, 1});
             })};
  }
}

/// Sends what TLS has sealed. Whether that is all.
bool queue_connection::flush() {
  through_->sent(send_some_now(through_->unsent()));
  return through_->unsent().empty();
}

std::size_t queue_connection::send_some_now(std::string_view bytes) {
  iovec part{const_cast<char*>(bytes.data()), bytes.size()}; // NOLINT: sendmsg does not write
  return bytes.empty() ? 0 : as_queue_lost([&] { return send_some(socket_, {&part, 1}); });
}

std::size_t queue_connection::send_now(std::string_view bytes) {
  if (!through_)
    return send_some_now(bytes);
  if (!flush())
    return 0;
  bytes = bytes.substr(0, sealed_bytes_at_once);
  as_queue_lost([&] { through_->write(bytes); });
  flush();
  return bytes.size();
}

void queue_connection::send(std::string_view bytes) {
  for (;;) {
    bytes.remove_prefix(send_now(bytes));
    if (bytes.empty() && (!through_ || through_->unsent().empty()))
      return;
    wait(POLLOUT, std::chrono::steady_clock::now() + queue_send_patience);
  }
}

/// 0: nothing is there yet.
std::size_t queue_connection::receive_some_now(std::span<char> into) {
  if (!through_) {
    iovec part{into.data(), into.size()};
    return receive_some(socket_, std::span{&part, 1});
  }
  if (came_.empty()) {
    iovec part{sealed_.data(), sealed_.size()};
    came_ = {sealed_.data(), receive_some(socket_, std::span{&part, 1})};
  }
  return through_->read(came_, into); // what it answers goes with what is sent next
}

bool queue_connection::receive(time_point end) {
  bytes_.erase(0, std::exchange(taken_, 0));
  const auto had = bytes_.size();
  // TLS gives a record of 16 KiB at a time: more room would be cleared for nothing.
  const auto most = through_ ? least_received_at_once : most_received_at_once;
  bytes_.resize(had + std::clamp(had, least_received_at_once, most));
  const std::span room{bytes_.data() + had, bytes_.size() - had};
  std::size_t n = 0;
  try {
    // TLS may have what came earlier.
    if (through_)
      n = as_queue_lost([&] { return through_->read(came_, room); });
    while (n == 0) {
      if (const int problem = wait_for_socket(socket_, POLLIN, &stop_, end)) {
        if (problem != ETIMEDOUT)
          throw queue_lost(system_words(problem));
        break;
      }
      n = as_queue_lost([&] { return receive_some_now(room); });
    }
  } catch (...) {
    bytes_.resize(had);
    throw;
  }
  bytes_.resize(had + n);
  return n > 0;
}

} // namespace leat
