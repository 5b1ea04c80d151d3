#pragma once

#include "tests/cluster/simulated_time.hpp"

namespace leat::test {

class simulated_network;

/// Numbers from 1; 0: none.
using connection_id = std::uint64_t;

/// A process of a simulated cluster, with a clock that drifts by up to 1 % and starts at any value.
class simulated_process {
public:
  simulated_process(simulated_network& net, std::uint64_t host);
  virtual ~simulated_process() = default;
  simulated_process(const simulated_process&) = delete;
  simulated_process& operator=(const simulated_process&) = delete;

  std::uint64_t pid() const noexcept { return pid_; }
  std::uint64_t host() const noexcept { return host_; }
  bool is_alive() const noexcept { return is_alive_; }
  bool is_stopped() const noexcept { return is_stopped_; }
  virtual_time clock() const;

  /// Makes something happen to the process: now, or when it is no longer paused.
  void take(std::function<void()> what);
  /// Makes something happen after so long by its own clock.
  void after(virtual_time own, std::function<void()> what);
  void exit();

  virtual void on_closed(connection_id) {}

protected:
  simulated_network& net() const noexcept { return net_; }

private:
  friend class simulated_network;

  simulated_network& net_;
  std::uint64_t pid_;
  std::uint64_t host_;
  bool is_alive_ = true;
  bool is_stopped_ = false;
  double rate_;
  virtual_time offset_;
  std::deque<std::function<void()>> held_;
};

/// Processes, and connections among them, in virtual time. Messages of one connection arrive in
/// order or not at all, as with CAF: a send never fails, a broken connection loses what was under
/// way and may or may not be reported to either side, and a stopped process gets all its messages
/// and timers when it continues.
class simulated_network : public simulated_time {
public:
  using simulated_time::simulated_time;

  // Processes:
  template <class Process, class... Arguments>
  Process& start(Arguments&&... arguments) {
    auto x = std::make_unique<Process>(std::forward<Arguments>(arguments)...);
    auto& result = *x;
    processes_.push_back(std::move(x));
    return result;
  }
  const std::vector<std::unique_ptr<simulated_process>>& processes() const { return processes_; }
  /// Null for a number that no process has had yet.
  simulated_process* find(std::uint64_t pid) const;
  void kill(simulated_process& x, bool told);
  void pause(simulated_process& x, virtual_time time);

  // Connections:
  /// 0 if there is no route.
  connection_id connect(simulated_process& from, simulated_process& to);
  void send(simulated_process& from, connection_id on, std::size_t bytes,
            std::function<void()> deliver);
  void close(simulated_process& by, connection_id x);
  simulated_process* other_end(const simulated_process& from, connection_id x) const {
    const auto& one = connections_[x - 1];
    return one.ends[one.ends[0] == &from ? 1 : 0];
  }
  void break_between(const simulated_process& a, const simulated_process& b, bool told);
  enum class cut_kind : std::uint8_t { told, silent, delaying };
  /// Removes the route between two hosts for a time. `delaying`: connections survive, and what was
  /// sent arrives afterwards.
  void cut(std::uint64_t host, std::uint64_t other, virtual_time time, cut_kind what);
  void slow_down(const simulated_process& x, double factor, virtual_time time);

private:
  friend class simulated_process;

  struct connection {
    simulated_process* ends[2];
    bool is_up = true;
    /// The last arrival per direction: nothing arrives before what was sent earlier.
    virtual_time last[2] = {};
  };
  using host_pair = std::pair<std::uint64_t, std::uint64_t>;

  bool is_cut(const connection& x) const;
  virtual_time delayed_until(const connection& x) const;
  void deliver(connection_id on, std::size_t side, std::function<void()> what);
  void tell_closed(connection_id x, std::size_t side, virtual_time when);
  void break_connection(connection_id x, bool told);
  double slowness(const simulated_process& x) const;

  std::vector<std::unique_ptr<simulated_process>> processes_;
  std::uint64_t pids_ = 0;
  std::vector<connection> connections_;
  std::map<host_pair, virtual_time> cuts_;
  std::map<host_pair, virtual_time> delays_;
  std::map<std::uint64_t, double> slow_;
};

} // namespace leat::test
