#pragma once

#include "runtime/network/links/bulk_connection.hpp"
#include "runtime/network/links/tls_session.hpp"
#include "tests/support/link_site.hpp"
#include "tests/support/standard.hpp"

#include <sys/socket.h>

#include <type_traits>

namespace leat::test {

/// Two sockets that are connected to each other, and do not block.
inline std::pair<file_descriptor, file_descriptor> socket_pair() {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0)
    throw std::runtime_error("no pair of sockets");
  return {file_descriptor{ends[0]}, file_descriptor{ends[1]}};
}

/// Two peers that know each other: a rank, and a worker that has dialed it; plain without a site.
inline std::pair<connected_peer, connected_peer> peers(const link_site* site) {
  auto [a, b] = socket_pair();
  connected_peer rank{.socket = std::move(a), .layer = std::make_unique<plain_layer>()};
  connected_peer worker{.socket = std::move(b), .layer = std::make_unique<plain_layer>()};
  if (!site)
    return {std::move(rank), std::move(worker)};
  rank.layer = std::make_unique<tls_session>(site->make(link_role::rank), link_side::accepts);
  worker.layer = std::make_unique<tls_session>(site->make(link_role::worker), link_side::dials);
  byte_buffer to_rank;
  byte_buffer to_worker;
  for (int i = 0; i < 3; ++i)
    for (auto* const x : {&worker, &rank}) {
      const auto bytes = std::exchange(x == &worker ? to_worker : to_rank, {});
      std::string_view came{bytes.data(), bytes.size()};
      x->layer->shake_hands(came, x == &worker ? to_rank : to_worker);
    }
  if (!rank.layer->peer() || !worker.layer->peer())
    throw std::runtime_error("an unfinished handshake");
  return {std::move(rank), std::move(worker)};
}

/// Bytes that are those of this frame and no other.
inline std::string payload_numbered(std::uint64_t number, std::size_t size) {
  std::string bytes(size, '\0');
  std::minstd_rand rng{static_cast<std::uint32_t>(number * 7 + 1)};
  for (std::size_t i = 0; i < size; i += 61)
    bytes[i] = static_cast<char>(rng());
  return bytes;
}

/// An end of a bulk connection, as its owner sees it. What comes is kept until it is taken.
class bulk_end : public bulk_owner {
public:
  struct frame {
    frame_kind kind;
    std::uint64_t number;
    std::string words;
    std::string payload;
    std::int64_t cost;
  };

  bulk_end(connected_peer peer, link_role other) {
    connection_ = std::make_unique<bulk_connection>(std::move(peer), bulk_rules_from(other), *this);
  }
  ~bulk_end() override { connection_.reset(); }

  std::optional<bulk_room> room_for(const bulk_head& x) override {
    rooms_ += 1;
    if (x.number % 16 == throw_away)
      return std::nullopt;
    auto owner = std::make_shared<std::string>(x.payload, '\0');
    bulk_room room{.owner = owner};
    const std::size_t parts[] = {x.number % 7, 0, x.payload}; // a row may have several fields
    std::size_t at = 0;
    for (const auto part : parts) {
      const auto size = std::min(part, x.payload - at);
      room.parts.push_back({owner->data() + at, size});
      at += size;
    }
    return room;
  }
  void receive(const bulk_head& x, bulk_room room) override {
    const auto* bytes = static_cast<const std::string*>(room.owner.get());
    change([&] {
      held_before_ = std::max(held_before_, held_);
      held_ += x.cost();
      came_.push_back({x.kind, x.number, std::string{x.words}, bytes ? *bytes : "", x.cost()});
    });
  }
  void may_send() override {
    change([&] { ++turns_; });
  }
  void ended(const std::string& why) noexcept override {
    change([&] { why_ = why; });
  }

  bulk_connection& connection() { return *connection_; }
  void close() { connection_.reset(); }
  int rooms() const { return rooms_; }
  /// The most that was held when one more frame came.
  std::int64_t most_held() const { return held_before_; }

  /// Waits as long as it takes; false if the connection has ended, or nothing happens.
  bool send(bulk_frame x) {
    for (;;) {
      const auto before = look([&] { return turns_; });
      if (connection_->send(x))
        return true;
      if (!wait([&] { return turns_ != before || why_; }) || look([&] { return why_.has_value(); }))
        return false;
    }
  }
  /// The next frame; its sender gets its credit back once `give_back` is called.
  frame take() {
    if (!wait([&] { return !came_.empty() || why_; }))
      throw std::runtime_error("nothing has come");
    const std::lock_guard lock{mutex_};
    if (came_.empty())
      throw std::runtime_error("the end: " + why_.value_or(""));
    auto x = std::move(came_.front());
    came_.pop_front();
    return x;
  }
  void give_back(const frame& x) {
    change([&] { held_ -= x.cost; });
    connection_->grant(x.cost);
  }
  /// Waits for the end; nothing if it does not come.
  std::optional<std::string> why() {
    wait([&] { return why_.has_value(); });
    return look([&] { return why_; });
  }
  std::size_t number_came() {
    return look([&] { return came_.size(); });
  }
  bool wait_for(std::size_t number) {
    return wait([&] { return came_.size() >= number; });
  }

  /// Frames whose number ends with this one are not wanted.
  std::uint64_t throw_away = 16;

private:
  template <class Change>
  void change(Change x) {
    const std::lock_guard lock{mutex_};
    x();
    changed_.notify_all();
  }
  template <class Look>
  std::invoke_result_t<Look> look(Look x) {
    const std::lock_guard lock{mutex_};
    return x();
  }
  template <class Test>
  bool wait(Test test) {
    std::unique_lock lock{mutex_};
    return changed_.wait_for(lock, soon, test);
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<frame> came_;
  std::int64_t held_ = 0;
  std::int64_t held_before_ = 0;
  int turns_ = 0;
  std::atomic<int> rooms_ = 0;
  std::optional<std::string> why_;
  std::unique_ptr<bulk_connection> connection_;
};

} // namespace leat::test
