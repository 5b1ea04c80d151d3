#pragma once

#include "tests/cluster/simulated_time.hpp"

namespace leat::test {

/// What messages cost in virtual time, as the cluster's model has it (its scale.py): each process
/// has one thread for its network, which spends 9 us and 0.5 us per KB on each message that it
/// sends or gets; the wire takes 50 us, and carries 1.25 GB/s.
class measured_network : public simulated_time {
public:
  struct load {
    std::uint64_t messages = 0;
    std::uint64_t bytes = 0;
    virtual_time busy{0};

    load& operator-=(const load& x) noexcept {
      messages -= x.messages;
      bytes -= x.bytes;
      busy -= x.busy;
      return *this;
    }
  };

  explicit measured_network(std::size_t processes) : simulated_time(1), processes_(processes) {}

  /// Lets time pass.
  void pass(virtual_time time) {
    const auto until = now() + time;
    at(until, [] {}); // so that it passes where nothing else happens, too
    run(until);
  }
  void send(std::size_t from, std::size_t to, std::size_t bytes, std::function<void()> deliver) {
    const auto left =
        use(from, bytes) + virtual_time{wire_ns + static_cast<virtual_time::rep>(bytes) * 4 / 5};
    at(left, [this, to, bytes, deliver = std::move(deliver)]() mutable {
      at(use(to, bytes), std::move(deliver));
    });
  }

  const load& of(std::size_t process) const { return processes_[process].total; }
  /// The load of the process that was busiest among those from `first` on.
  load busiest_from(std::size_t first) const {
    const auto is_less = [](const auto& a, const auto& b) { return a.total.busy < b.total.busy; };
    return std::max_element(processes_.begin() + static_cast<std::ptrdiff_t>(first),
                            processes_.end(), is_less)
        ->total;
  }
  void forget_loads() {
    for (auto& x : processes_)
      x.total = {};
  }

private:
  static constexpr virtual_time::rep message_ns = 9000;
  static constexpr virtual_time::rep kilobyte_ns = 500;
  static constexpr virtual_time::rep wire_ns = 50'000;

  struct process {
    virtual_time free{0};
    load total;
  };

  /// When the process is done with the message.
  virtual_time use(std::size_t i, std::size_t bytes) {
    auto& x = processes_[i];
    const virtual_time cost{message_ns
                            + kilobyte_ns * static_cast<virtual_time::rep>(bytes) / 1024};
    x.free = std::max(x.free, now()) + cost;
    x.total.busy += cost;
    ++x.total.messages;
    x.total.bytes += bytes;
    return x.free;
  }

  std::vector<process> processes_;
};

/// Processor time that this thread has spent within, whatever else the machine does.
class thread_seconds {
public:
  template <class Call>
  decltype(auto) operator()(Call call) {
    struct stop {
      thread_seconds& to;
      double begin = now();
      ~stop() { to.sum_ += now() - begin; }
    } const at_end{*this};
    return call();
  }
  double take() { return std::exchange(sum_, 0); }

private:
  static double now() {
    timespec x{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &x);
    return static_cast<double>(x.tv_sec) + 1e-9 * static_cast<double>(x.tv_nsec);
  }

  double sum_ = 0;
};

} // namespace leat::test
