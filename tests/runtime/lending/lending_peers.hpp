#pragma once

#include "runtime/lending/waiting_frames.hpp"
#include "runtime/network/links/bulk_connection.hpp"
#include "runtime/network/links/dial_peer.hpp"
#include "runtime/network/links/port_guard.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

namespace leat::test {

inline guard_config plain_guard() {
  return {.at = *parse_ip("127.0.0.1"), .rules = {.token = secret{"known"}}};
}

/// A helper in threads of this process, as long as it lives.
class helper {
public:
  explicit helper(worker_options x) {
    x.stop = stop_.get_token();
    if (!x.log)
      x.log = [](const std::string&) {};
    if (x.cores == 0)
      x.cores = 1;
    thread_ = std::thread{[x] { run_worker(x); }};
  }
  ~helper() {
    stop_.request_stop();
    thread_.join();
  }

private:
  std::stop_source stop_;
  std::thread thread_;
};

template <class Rank>
worker_options joining(const Rank& x) {
  return {.join = "127.0.0.1:" + std::to_string(x.port()), .token = "known"};
}

/// What a helper logs.
class log_lines {
public:
  std::function<void(const std::string&)> writer() {
    return [this](const std::string& line) {
      const mutex_lock lock{mutex_};
      lines_.push_back(line);
    };
  }
  std::vector<std::string> all() const {
    const mutex_lock lock{mutex_};
    return lines_;
  }

private:
  mutable mutex mutex_;
  std::vector<std::string> lines_;
};

/// A rank that does what a test says with each frame of a helper, one connection after the other.
class odd_rank {
public:
  class link final : public bulk_owner {
  public:
    explicit link(odd_rank& of) : of_(of) {}
    ~link() override { connection_.reset(); }
    void begin(connected_peer peer) {
      connection_.emplace(std::move(peer), bulk_rules_from(link_role::worker), *this);
      wire_ = &*connection_;
      wire_->grant(of_.window_);
    }
    /// As soon as there is credit for it. In calls of this.
    void send(bulk_frame x) { out_.send(*wire_, std::move(x)); }

    std::optional<bulk_room> room_for(const bulk_head& x) override {
      payload_ = std::make_shared<std::vector<char>>(x.payload);
      return bulk_room{.parts = {std::span{*payload_}}, .owner = payload_};
    }
    void receive(const bulk_head& x, bulk_room) override { of_.receive_(*this, x); }
    void may_send() override { out_.flush(*wire_); }
    void ended(const std::string&) noexcept override {}

  private:
    odd_rank& of_;
    std::optional<bulk_connection> connection_;
    /// For its thread, to which the optional is empty before the thread has ended.
    bulk_connection* wire_ = nullptr;
    waiting_frames out_;
    std::shared_ptr<std::vector<char>> payload_;
  };

  odd_rank(std::int64_t window, std::function<void(link&, const bulk_head&)> receive)
      : window_(window), receive_(std::move(receive)), guard_([] {
          auto x = plain_guard();
          x.rules.as = link_role::rank;
          x.rules.roles = {link_role::worker};
          return x;
        }()) {
    guard_.begin([this](connected_peer x) {
      links_.push_back(std::make_unique<link>(*this));
      links_.back()->begin(std::move(x));
      ++connections_;
    });
  }

  std::uint16_t port() const { return guard_.port(); }
  std::size_t connections() const { return connections_; }

private:
  const std::int64_t window_;
  const std::function<void(link&, const bulk_head&)> receive_;
  std::atomic<std::size_t> connections_ = 0;
  std::vector<std::unique_ptr<link>> links_;
  port_guard guard_; // its thread ends first
};

/// A helper that says what a test says, and does with each frame of the rank what it says.
class odd_helper final : public bulk_owner {
public:
  template <class Rank>
  odd_helper(const Rank& to, std::int64_t window,
             std::function<void(odd_helper&, const bulk_head&)> receive)
      : receive_(std::move(receive)) {
    const dial_wish wish{.to = {"127.0.0.1", to.port()},
                         .expected = link_role::rank,
                         .hello = {.role = link_role::worker, .token = secret{"known"}}};
    connection_.emplace(dial_peer(wish, nullptr), bulk_rules_from(link_role::rank), *this);
    wire_ = &*connection_;
    wire_->grant(window); // nothing comes before this
  }
  ~odd_helper() override { connection_.reset(); }

  /// Waits for credit. Any thread but the connection's, which does not wait.
  void send(bulk_frame x) {
    while (!wire_->send(x) && !has_ended_)
      std::this_thread::yield();
  }
  /// If there is credit for it. In calls of this.
  void answer(bulk_frame x) { (void)wire_->send(x); }
  /// Until the rank has cut it off.
  void wait() const { has_ended_.wait(false); }

  std::optional<bulk_room> room_for(const bulk_head& x) override {
    payload_ = std::make_shared<std::vector<char>>(x.payload);
    return bulk_room{.parts = {std::span{*payload_}}, .owner = payload_};
  }
  void receive(const bulk_head& x, bulk_room) override { receive_(*this, x); }
  void may_send() override {}
  void ended(const std::string&) noexcept override {
    has_ended_ = true;
    has_ended_.notify_all();
  }

private:
  const std::function<void(odd_helper&, const bulk_head&)> receive_;
  std::atomic<bool> has_ended_ = false;
  std::optional<bulk_connection> connection_;
  /// For its thread, to which the optional is empty before the thread has ended.
  bulk_connection* wire_ = nullptr;
  std::shared_ptr<std::vector<char>> payload_;
};

} // namespace leat::test
