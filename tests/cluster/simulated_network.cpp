#include "tests/cluster/simulated_network.hpp"

#include <algorithm>

namespace leat::test {

namespace {

constexpr double drift = 0.01;

std::pair<std::uint64_t, std::uint64_t> pair_of(std::uint64_t a, std::uint64_t b) {
  return {std::min(a, b), std::max(a, b)};
}

} // namespace

// -- processes

simulated_process::simulated_process(simulated_network& net, std::uint64_t host)
    : net_(net), pid_(++net.pids_), host_(host), rate_(1 + net.between(-drift, drift)),
      offset_(seconds_of(net.between(0, 1000))) {}

virtual_time simulated_process::clock() const {
  return offset_
         + virtual_time{
             static_cast<virtual_time::rep>(static_cast<double>(net_.now().count()) * rate_)};
}

void simulated_process::take(std::function<void()> what) {
  if (!is_alive_)
    return;
  if (is_stopped_)
    held_.push_back(std::move(what));
  else
    what();
}

void simulated_process::after(virtual_time own, std::function<void()> what) {
  const auto time =
      virtual_time{static_cast<virtual_time::rep>(static_cast<double>(own.count()) / rate_)};
  net_.in(time, [this, what = std::move(what)]() mutable { take(std::move(what)); });
}

void simulated_process::exit() {
  net_.kill(*this, true);
}

simulated_process* simulated_network::find(std::uint64_t pid) const {
  const auto found = std::find_if(processes_.begin(), processes_.end(),
                                  [&](const auto& x) { return x->pid() == pid; });
  return found == processes_.end() ? nullptr : found->get();
}

void simulated_network::kill(simulated_process& x, bool told) {
  if (!x.is_alive_)
    return;
  x.is_alive_ = false;
  x.held_.clear();
  for (connection_id i = 1; i <= connections_.size(); ++i) {
    auto& one = connections_[i - 1];
    for (std::size_t side = 0; side < 2; ++side)
      if (one.is_up && one.ends[side] == &x) {
        one.is_up = false;
        if (told && !is_cut(one))
          tell_closed(i, 1 - side, std::max(now(), one.last[side]) + std::chrono::milliseconds{1});
      }
  }
}

void simulated_network::pause(simulated_process& x, virtual_time time) {
  if (!x.is_alive_ || x.is_stopped_)
    return;
  x.is_stopped_ = true;
  in(time, [&x] {
    x.is_stopped_ = false;
    while (!x.held_.empty() && x.is_alive_) {
      auto what = std::move(x.held_.front());
      x.held_.pop_front();
      what();
    }
  });
}

// -- connections

bool simulated_network::is_cut(const connection& x) const {
  const auto found = cuts_.find(pair_of(x.ends[0]->host(), x.ends[1]->host()));
  return found != cuts_.end() && found->second > now();
}

virtual_time simulated_network::delayed_until(const connection& x) const {
  const auto found = delays_.find(pair_of(x.ends[0]->host(), x.ends[1]->host()));
  return found == delays_.end() ? virtual_time{0} : found->second;
}

double simulated_network::slowness(const simulated_process& x) const {
  const auto found = slow_.find(x.pid());
  return found == slow_.end() ? 1 : found->second;
}

connection_id simulated_network::connect(simulated_process& from, simulated_process& to) {
  const connection x{.ends = {&from, &to}};
  if (!to.is_alive() || is_cut(x) || delayed_until(x) > now())
    return 0;
  connections_.push_back(x);
  return connections_.size();
}

void simulated_network::send(simulated_process& from, connection_id on, std::size_t bytes,
                             std::function<void()> deliver) {
  auto& x = connections_[on - 1];
  if (!x.is_up || is_cut(x) || !from.is_alive())
    return;
  const std::size_t side = x.ends[0] == &from ? 1 : 0; // the receiver's
  const auto latency =
      (one_of({0.001, 0.002, 0.01}) * between(0, 1) + 0.0005 + static_cast<double>(bytes) / 2e7)
      * slowness(*x.ends[0]) * slowness(*x.ends[1]);
  const auto when = std::max({x.last[1 - side], now() + seconds_of(latency), delayed_until(x)});
  x.last[1 - side] = when;
  at(when, [this, on, side, deliver = std::move(deliver)]() mutable {
    this->deliver(on, side, std::move(deliver));
  });
}

void simulated_network::deliver(connection_id on, std::size_t side, std::function<void()> what) {
  const auto& x = connections_[on - 1];
  if (const auto until = delayed_until(x); until > now())
    return at(until, [this, on, side, what = std::move(what)]() mutable {
      deliver(on, side, std::move(what));
    });
  if (x.is_up)
    x.ends[side]->take(std::move(what));
}

void simulated_network::tell_closed(connection_id x, std::size_t side, virtual_time when) {
  auto* to = connections_[x - 1].ends[side];
  at(when, [to, x] { to->take([to, x] { to->on_closed(x); }); });
}

void simulated_network::close(simulated_process& by, connection_id x) {
  auto& one = connections_[x - 1];
  if (!one.is_up)
    return;
  const std::size_t side = one.ends[0] == &by ? 0 : 1;
  one.is_up = false;
  if (!is_cut(one))
    tell_closed(x, 1 - side, std::max(now(), one.last[side]) + std::chrono::milliseconds{1});
}

void simulated_network::break_connection(connection_id x, bool told) {
  auto& one = connections_[x - 1];
  if (!one.is_up)
    return;
  one.is_up = false;
  for (std::size_t side = 0; told && side < 2; ++side)
    tell_closed(x, side, now() + seconds_of(between(0, 0.02)));
}

void simulated_network::break_between(const simulated_process& a, const simulated_process& b,
                                      bool told) {
  for (connection_id i = 1; i <= connections_.size(); ++i) {
    const auto& x = connections_[i - 1];
    if ((x.ends[0] == &a && x.ends[1] == &b) || (x.ends[0] == &b && x.ends[1] == &a))
      break_connection(i, told);
  }
}

void simulated_network::cut(std::uint64_t host, std::uint64_t other, virtual_time time,
                            cut_kind what) {
  const auto hosts = pair_of(host, other);
  if (what == cut_kind::delaying) {
    delays_[hosts] = std::max(delays_[hosts], now() + time);
    return;
  }
  cuts_[hosts] = std::max(cuts_[hosts], now() + time);
  for (connection_id i = 1; i <= connections_.size(); ++i) {
    const auto& x = connections_[i - 1];
    if (pair_of(x.ends[0]->host(), x.ends[1]->host()) == hosts)
      break_connection(i, what == cut_kind::told);
  }
}

void simulated_network::slow_down(const simulated_process& x, double factor, virtual_time time) {
  slow_[x.pid()] = factor;
  in(time, [this, pid = x.pid()] { slow_.erase(pid); });
}

} // namespace leat::test
