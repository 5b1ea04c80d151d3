#pragma once

#include "tests/support/standard.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <list>

namespace leat::test {

/// Simulates the network between clients and one server: forwards TCP connections to `port()` on
/// loopback to the server, with a chosen delay, until the link is cut or falls silent.
class network_link {
public:
  using clock = std::chrono::steady_clock;
  /// Sees, and may change, bytes on their way. Connections are numbered from 0 on. Called in the
  /// link's thread.
  using touch_bytes =
      std::function<void(std::uint64_t connection, bool is_to_server, std::string& bytes)>;

  explicit network_link(std::uint16_t to, touch_bytes touch = {})
      : to_(to), touch_(std::move(touch)) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    auto place = loopback(0);
    socklen_t size = sizeof place;
    if (listener_ < 0 || ::bind(listener_, reinterpret_cast<sockaddr*>(&place), size) != 0
        || ::listen(listener_, 64) != 0
        || ::getsockname(listener_, reinterpret_cast<sockaddr*>(&place), &size) != 0)
      throw std::runtime_error("a link cannot listen");
    port_ = ntohs(place.sin_port);
    wake_ = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    thread_ = std::thread{[this] { run(); }};
  }
  network_link(const network_link&) = delete;
  network_link& operator=(const network_link&) = delete;
  ~network_link() {
    change([this] { is_to_end_ = true; });
    thread_.join();
    ::close(listener_);
    ::close(wake_);
  }

  std::string address() const { return "127.0.0.1:" + std::to_string(port_); }

  /// The server of connections that are made from now on.
  void lead_to(std::uint16_t port) {
    change([&] { to_ = port; });
  }
  /// Closes all connections, and those that are made before `restore()`.
  void cut() {
    change([this] { state_ = state::cut; });
  }
  /// Forwards nothing and closes nothing, as if the cable had been pulled.
  void silence() {
    change([this] { state_ = state::silent; });
  }
  /// Forwards again, beginning with what was held back.
  void restore() {
    change([this] { state_ = state::open; });
  }
  /// From now on data takes this long in each direction.
  void delay(std::chrono::milliseconds latency) {
    change([&] { latency_ = latency; });
  }

private:
  enum class state : std::uint8_t { open, silent, cut };

  struct chunk {
    clock::time_point due;
    std::string bytes;
  };
  /// The data of one direction that is not sent yet.
  struct way {
    int from;
    int to;
    std::uint64_t connection;
    bool is_to_server;
    std::deque<chunk> held = {};
    bool has_ended = false;
  };
  using connection = std::array<way, 2>;

  static constexpr std::size_t most_held = 64; // chunks per direction

  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in place{};
    place.sin_family = AF_INET;
    place.sin_port = htons(port);
    place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return place;
  }

  template <class Function>
  void change(Function how) {
    {
      const std::lock_guard lock{mutex_};
      how();
    }
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto ignored = ::write(wake_, &one, sizeof one);
  }

  void run() {
    while (true) {
      std::uint64_t count = 0;
      [[maybe_unused]] const auto ignored = ::read(wake_, &count, sizeof count);
      {
        const std::lock_guard lock{mutex_};
        if (is_to_end_)
          break;
        now_ = {state_, to_, latency_};
      }
      if (now_.how == state::cut)
        close_all();
      wait();
      if (now_.how != state::silent)
        accept();
      if (now_.how == state::open)
        move();
    }
    close_all();
  }

  /// Waits for data that can be forwarded in the current state, or for a change of it.
  void wait() {
    std::vector<pollfd> files{{wake_, POLLIN, 0}};
    int timeout = -1;
    if (now_.how != state::silent)
      files.push_back({listener_, POLLIN, 0});
    if (now_.how == state::open)
      for (const auto& ways : connections_)
        for (const auto& x : ways) {
          if (x.held.size() < most_held && !x.has_ended)
            files.push_back({x.from, POLLIN, 0});
          if (x.held.empty())
            continue;
          const auto left = x.held.front().due - clock::now();
          if (left.count() <= 0)
            files.push_back({x.to, POLLOUT, 0});
          else {
            const auto ms =
                static_cast<int>(std::chrono::ceil<std::chrono::milliseconds>(left).count());
            timeout = timeout < 0 ? ms : std::min(timeout, ms);
          }
        }
    ::poll(files.data(), files.size(), timeout);
  }

  void accept() {
    while (true) {
      const int client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
      if (client < 0)
        return;
      const int server =
          now_.how == state::cut ? -1 : ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      const auto place = loopback(now_.to);
      if (server < 0
          || ::connect(server, reinterpret_cast<const sockaddr*>(&place), sizeof place) != 0) {
        ::close(client);
        if (server >= 0)
          ::close(server);
        continue;
      }
      ::fcntl(server, F_SETFL, O_NONBLOCK);
      connections_.push_back({way{client, server, made_, true}, way{server, client, made_, false}});
      ++made_;
    }
  }

  void move() {
    for (auto x = connections_.begin(); x != connections_.end();) {
      const bool is_over = std::any_of(x->begin(), x->end(), [&](way& one) {
        return !move(one) || (one.has_ended && one.held.empty());
      });
      if (is_over)
        close(*x);
      x = is_over ? connections_.erase(x) : std::next(x);
    }
  }

  /// False if the receiver is gone.
  bool move(way& x) const {
    std::array<char, 16'384> bytes;
    while (!x.has_ended && x.held.size() < most_held) {
      const auto n = ::read(x.from, bytes.data(), bytes.size());
      if (n < 0 && (errno == EAGAIN || errno == EINTR))
        break;
      if (n <= 0)
        x.has_ended = true;
      else
        hold(x, {bytes.data(), static_cast<std::size_t>(n)});
    }
    while (!x.held.empty() && x.held.front().due <= clock::now()) {
      auto& first = x.held.front().bytes;
      const auto n = ::send(x.to, first.data(), first.size(), MSG_NOSIGNAL);
      if (n < 0)
        return errno == EAGAIN || errno == EINTR;
      first.erase(0, static_cast<std::size_t>(n));
      if (first.empty())
        x.held.pop_front();
    }
    return true;
  }

  void hold(way& x, std::string bytes) const {
    if (touch_)
      touch_(x.connection, x.is_to_server, bytes);
    x.held.push_back({clock::now() + now_.latency, std::move(bytes)});
  }

  static void close(const connection& x) {
    ::close(x[0].from);
    ::close(x[0].to);
  }
  void close_all() {
    for (const auto& x : connections_)
      close(x);
    connections_.clear();
  }

  struct settings {
    state how;
    std::uint16_t to;
    std::chrono::milliseconds latency;
  };

  int listener_ = -1;
  int wake_ = -1;
  std::uint16_t port_ = 0;

  std::mutex mutex_;
  state state_ = state::open;
  std::uint16_t to_;
  std::chrono::milliseconds latency_{0};
  bool is_to_end_ = false;

  // Used only by the thread:
  const touch_bytes touch_;
  std::uint64_t made_ = 0;
  settings now_{};
  std::list<connection> connections_;
  std::thread thread_;
};

} // namespace leat::test
