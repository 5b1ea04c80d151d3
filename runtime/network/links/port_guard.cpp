#include "runtime/network/links/port_guard.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/network/address.hpp"
#include "runtime/network/links/refusal_log.hpp"
#include "runtime/network/links/stranger.hpp"
#include "runtime/network/listen_place.hpp"
#include "runtime/network/socket_address.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <list>
#include <map>
#include <utility>
#include <vector>

namespace leat {

namespace {

using time_point = std::chrono::steady_clock::time_point;

/// Whoever has had this long may be cut off for somebody who has just come.
constexpr std::chrono::milliseconds grace{150};
/// How long accepting rests where this process has no more descriptors.
constexpr std::chrono::milliseconds accept_rest{100};
/// Other descriptors come first.
constexpr int accepts_at_once = 16;

void check_place(const guard_config& x) {
  if (x.certificates || x.is_insecure || is_loopback(x.at))
    return;
  refuse_argument("cluster",
                  "the address " + to_string(x.at)
                      + ", which other machines can reach, and no certificates",
                  "certificates (leat certs), an address of this machine alone, or the word that "
                  "the network is private: insecure");
}

} // namespace

/// What the guard's thread does.
class port_guard::watch : not_copied {
public:
  watch(guard_config config, file_descriptor listener, const wake_event& stop)
      : config_(std::move(config)), listener_(std::move(listener)), stop_(stop), log_(config_.log),
        most_unknown_(std::clamp<std::size_t>(descriptor_limit() / 8, 1, config_.most_unknown)),
        most_admitted_(config_.most_admitted != 0
                           ? config_.most_admitted
                           : std::max<std::size_t>(descriptor_limit() / 4 * 3, 1)),
        most_observers_(std::max<std::size_t>(most_admitted_ / 8, 1)) {}

  void set_admit(admit_peer admit) { admit_ = std::move(admit); }

  /// Until it is stopped. A lack of memory costs a connection, and not the port.
  void run() noexcept {
    while (!is_stopped_)
      try {
        turn();
      } catch (...) { // no memory; those whose time is over are cut off in any case
        drop_late(std::chrono::steady_clock::now());
      }
    listener_ = {};
    strangers_.clear();
  }

private:
  void turn() {
    wait();
    const auto now = std::chrono::steady_clock::now();
    if (is_stopped_)
      return;
    std::size_t i = first_stranger;
    for (auto at = strangers_.begin(); at != strangers_.end(); ++i) {
      const auto one = at++;
      if (polled_[i].revents != 0)
        attend(one, now);
    }
    drop_late(now);
    if (polled_[1].revents != 0)
      accept_some(now);
  }

  void wait() {
    const auto now = std::chrono::steady_clock::now();
    polled_.clear();
    polled_.push_back({stop_.descriptor(), POLLIN, 0});
    polled_.push_back({may_accept(now) ? listener_.get() : -1, POLLIN, 0});
    auto end = now + std::chrono::hours{1};
    if (now < rest_until_)
      end = rest_until_;
    else if (!may_accept(now))
      end = strangers_.front().came() + grace;
    for (const auto& x : strangers_) {
      polled_.push_back({x.descriptor(), x.events(), 0});
      end = std::min(end, x.deadline());
    }
    const int n = ::poll(polled_.data(), polled_.size(), poll_milliseconds(end, now));
    if (n < 0) // interrupted, or no memory in the kernel: nothing is known of any
      for (auto& x : polled_)
        x.revents = 0;
    is_stopped_ = polled_[0].revents != 0;
  }

  /// Not while it rests, nor while all places are taken by those who have just come.
  bool may_accept(time_point now) const {
    return now >= rest_until_
           && (strangers_.size() < most_unknown_ || now >= strangers_.front().came() + grace
               || std::any_of(strangers_.begin(), strangers_.end(),
                              [](const stranger& x) { return x.is_refused(); }));
  }

  void attend(std::list<stranger>::iterator one, time_point now) {
    bool is_admitted = false;
    try {
      is_admitted = one->advance([this](link_role role) { return take_place(role); });
    } catch (...) {
      return cut(one, error_in_flight(errc::io, {.stage = "link"}).what(), now);
    }
    if (is_admitted)
      return admit(one, now);
    if (one->is_over() && one->is_refused())
      return cut(one, one->why(), now);
    if (one->is_over()) // has left by itself
      strangers_.erase(one);
  }

  void cut(std::list<stranger>::iterator one, const std::string& why, time_point now) {
    log_.add(one->address(), why, now);
    strangers_.erase(one);
  }

  void admit(std::list<stranger>::iterator one, time_point now) {
    auto peer = one->release();
    const auto address = one->address();
    strangers_.erase(one);
    try {
      admit_(std::move(peer));
    } catch (...) {
      log_.add(address, error_in_flight(errc::io, {.stage = "link"}).what(), now);
    }
  }

  /// Null if there are too many already. Observers have places of their own: they take no rank's.
  std::shared_ptr<void> take_place(link_role role) const {
    // A coordinator is asked by workers and feeds where ranks are, as by observers.
    const bool observes = role == link_role::observer
                          || ((role == link_role::worker || role == link_role::feed)
                              && config_.rules.roles.has(link_role::observer));
    const auto& all = observes ? observers_ : admitted_;
    const auto most = observes ? most_observers_ : most_admitted_ - most_admitted_ / 8;
    return static_cast<std::size_t>(all.use_count()) > most ? nullptr : all;
  }

  void drop_late(time_point now) noexcept {
    for (auto at = strangers_.begin(); at != strangers_.end();)
      if (const auto one = at++; now >= one->deadline()) {
        tell_late(*one, now);
        strangers_.erase(one);
      }
  }

  void tell_late(const stranger& x, time_point now) noexcept try {
    log_.add(x.address(), x.is_refused() ? x.why() : "no hello in time", now);
  } catch (...) { // no memory for the text
  }

  void accept_some(time_point now) {
    for (int i = 0; i < accepts_at_once && may_accept(now); ++i) {
      socket_address from;
      auto socket = opened([&] {
        return ::accept4(listener_.get(), from.raw(), &from.size, SOCK_NONBLOCK | SOCK_CLOEXEC);
      });
      if (!socket) {
        // EAGAIN: nobody is left. Whoever has gone again is passed over, and so is what the network
        // says of a connection. Without descriptors poll(2) would return at once for ever.
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
          rest_until_ = now + accept_rest;
        return;
      }
      if (strangers_.size() >= most_unknown_)
        make_room(now);
      take_in(std::move(socket), from, now);
    }
  }

  void take_in(file_descriptor socket, const socket_address& from, time_point now) {
    prepare_connection(socket);
    auto copy = from;
    const auto ip = ip_of(copy.raw()).value_or(ip_address{});
    auto own = config_.certificates ? config_.certificates->now() : nullptr;
    strangers_.emplace_back(std::move(socket), ip, from.port(), now, now + config_.patience,
                            config_.rules, std::move(own));
  }

  /// Cuts off somebody who is refused and stays, otherwise the oldest one of the host that has most
  /// of them.
  void make_room(time_point now) {
    const auto refused = std::find_if(strangers_.begin(), strangers_.end(),
                                      [](const stranger& x) { return x.is_refused(); });
    if (refused != strangers_.end())
      return cut(refused, refused->why(), now);
    std::map<std::array<std::uint8_t, 16>, std::size_t> of_host;
    for (const auto& x : strangers_)
      ++of_host[x.ip().bytes];
    const auto most =
        std::max_element(of_host.begin(), of_host.end(),
                         [](const auto& a, const auto& b) { return a.second < b.second; });
    const auto one = std::find_if(strangers_.begin(), strangers_.end(),
                                  [&](const stranger& x) { return x.ip().bytes == most->first; });
    cut(one, "too many connections at a time", now);
  }

  static constexpr std::size_t first_stranger = 2; // in what is polled

  const guard_config config_;
  admit_peer admit_;
  file_descriptor listener_;
  const wake_event& stop_;
  refusal_log log_;
  const std::size_t most_unknown_;
  const std::size_t most_admitted_;
  const std::size_t most_observers_;
  bool is_stopped_ = false;
  time_point rest_until_ = {};
  /// By the time they came.
  std::list<stranger> strangers_;
  std::vector<pollfd> polled_;
  /// Counted by its users.
  std::shared_ptr<void> admitted_ = std::make_shared<char>();
  std::shared_ptr<void> observers_ = std::make_shared<char>();
};

port_guard::port_guard(guard_config config) {
  check_place(config);
  auto listener = listen_at(config.at, config.port);
  port_ = listener.port;
  watch_ = std::make_unique<watch>(std::move(config), std::move(listener.socket), stop_);
}

void port_guard::begin(admit_peer admit) {
  watch_->set_admit(std::move(admit));
  thread_ = begin_thread("cluster", [this] { watch_->run(); });
}

port_guard::~port_guard() {
  close();
  if (thread_.joinable())
    thread_.join();
}

} // namespace leat
