#include "runtime/network/links/bulk_connection.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/system_words.hpp"
#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/network/links/link_error.hpp"
#include "runtime/network/links/socket_bytes.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <utility>

namespace leat {

namespace {

/// What is received from TLS at a time.
constexpr std::size_t sealed_receive_bytes = 256 << 10;
/// Then it is time to send again.
constexpr int most_receives = 16;

} // namespace

bulk_connection::bulk_connection(connected_peer peer, const frame_rules& from_peer,
                                 bulk_owner& owner, std::int64_t most_unsent)
    : peer_(std::move(peer)), owner_(owner), most_unsent_(most_unsent) {
  reader_.emplace(from_peer);
  writer_.emplace(*peer_.layer);
  if (!peer_.layer->is_plain())
    buffer_.resize(sealed_receive_bytes);
  thread_ = begin_thread("link", [this] { run(); });
}

bulk_connection::~bulk_connection() {
  cut();
  thread_.join();
}

bool bulk_connection::send(bulk_frame& x) {
  const mutex_lock lock{mutex_};
  if (shared_.is_over || shared_.credit <= 0 || shared_.unsent >= most_unsent_) {
    shared_.is_refused = true;
    return false;
  }
  auto parcel = parcel_of(x);
  shared_.credit -= parcel.cost;
  shared_.unsent += parcel.cost;
  shared_.queue.push_back(std::move(parcel));
  if (std::exchange(shared_.is_asleep, false))
    bell_.set();
  return true;
}

void bulk_connection::grant(std::int64_t bytes) {
  const mutex_lock lock{mutex_};
  shared_.granted += bytes;
  if (shared_.step == 0)
    shared_.step = bytes / 4;
  if (must_tell() && std::exchange(shared_.is_asleep, false))
    bell_.set();
}

/// A peer that has nothing left hears of anything.
bool bulk_connection::must_tell() const {
  return shared_.granted > 0 && (shared_.is_dry || shared_.granted >= shared_.step);
}

void bulk_connection::cut() noexcept {
  is_cut_ = true;
  ::shutdown(peer_.socket.get(), SHUT_RDWR);
  bell_.set();
}

void bulk_connection::run() noexcept {
  std::string why;
  try {
    receive_first();
    while (!is_cut_) {
      take_waiting();
      settle(writer_->send(peer_.socket));
      wait();
      if (is_readable_)
        receive();
    }
  } catch (...) {
    why = error_in_flight(errc::io, {.stage = "link"}).details().got;
  }
  if (is_cut_)
    why.clear();
  ::shutdown(peer_.socket.get(), SHUT_RDWR);
  reader_.reset(); // with what they keep of the owner's
  writer_.reset();
  {
    const mutex_lock lock{mutex_};
    shared_.is_over = true;
    shared_.queue.clear();
  }
  owner_.ended(why);
}

/// What has come with the words that preceded this.
void bulk_connection::receive_first() {
  came_ = peer_.unread;
  read_came();
  peer_.unread = {};
}

/// Passes on what other threads want to be sent.
void bulk_connection::take_waiting() {
  std::vector<bulk_parcel> queue;
  std::int64_t granted = 0;
  {
    const mutex_lock lock{mutex_};
    queue.swap(shared_.queue);
    if (must_tell())
      granted = std::exchange(shared_.granted, 0);
    shared_.is_dry = false;
  }
  if (granted > 0) {
    reader_->grant(granted);
    writer_->add_credit(granted);
  }
  for (auto& x : queue)
    writer_->add(std::move(x));
}

/// Counts what is sent and what the peer has granted.
void bulk_connection::settle(std::int64_t done) {
  const auto credit = reader_->take_credit();
  bool is_wanted = false;
  {
    const mutex_lock lock{mutex_};
    shared_.unsent -= done;
    shared_.credit += credit;
    if (shared_.credit > most_credit)
      break_link("more credit than any memory is worth", "a receiver's window");
    if (shared_.is_refused && shared_.credit > 0 && shared_.unsent < most_unsent_)
      is_wanted = std::exchange(shared_.is_refused, false);
  }
  if (is_wanted)
    owner_.may_send();
}

void bulk_connection::wait() {
  bool has_work = false;
  {
    const mutex_lock lock{mutex_};
    shared_.is_dry = reader_->allowed() <= 0;
    // What other threads add cannot be sent as long as the socket takes nothing.
    has_work = writer_->is_empty() && (!shared_.queue.empty() || must_tell());
    shared_.is_asleep = writer_->is_empty() && !has_work;
  }
  const short events = writer_->is_empty() ? POLLIN : POLLIN | POLLOUT;
  std::array<pollfd, 2> all{pollfd{peer_.socket.get(), events, 0},
                            pollfd{bell_.descriptor(), POLLIN, 0}};
  if (::poll(all.data(), all.size(), has_work ? 0 : -1) < 0 && errno != EINTR)
    break_link(system_words(errno), "a connection that can be waited for");
  is_readable_ = all[0].revents != 0;
  if (all[1].revents != 0)
    bell_.clear();
  const mutex_lock lock{mutex_};
  shared_.is_asleep = false;
}

void bulk_connection::receive() {
  if (!peer_.layer->is_plain())
    return receive_sealed();
  for (int i = 0; i < most_receives; ++i) {
    auto room = reader_->room();
    const auto n = receive_some(peer_.socket, room);
    received_ += n;
    reader_->filled(n, owner_);
    if (n < room[0].iov_len + room[1].iov_len) // the socket tells when there is more
      return;
  }
}

void bulk_connection::receive_sealed() {
  iovec room{buffer_.data(), buffer_.size()};
  came_ = {buffer_.data(), receive_some(peer_.socket, {&room, 1})};
  received_ += came_.size();
  read_came();
}

void bulk_connection::read_came() {
  for (;;) {
    const auto room = reader_->room();
    const auto n = peer_.layer->read(came_, {static_cast<char*>(room[0].iov_base), room[0].iov_len},
                                     writer_->sealed());
    if (n == 0)
      return;
    reader_->filled(n, owner_);
  }
}

} // namespace leat
