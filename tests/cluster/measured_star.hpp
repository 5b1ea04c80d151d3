#pragma once

#include "runtime/cluster/coordinator.hpp"
#include "runtime/cluster/member.hpp"
#include "tests/cluster/measured_network.hpp"
#include "tests/support/cluster_facts.hpp"

namespace leat::test {

/// A coordinator and the members of a large job, as they are, in a network without faults that
/// measures them. The coordinator is process 0, ranks are those from 1 on.
class measured_star {
public:
  struct wish {
    std::uint64_t ranks = 100;
    job_rules rules = {};
    bool ends_with_last = false;
  };
  explicit measured_star(const wish& how);

  /// Lets time pass.
  void run(double seconds) { net_.pass(seconds_of(seconds)); }
  /// Lets time pass until that is so; fails after a minute. Returns the time that it took.
  double until(const std::function<bool()>& is_so);

  /// All ranks connect within that time, as processes that were not there before.
  void connect(double within);
  /// All processes die at once, and connections with them.
  void lose_all();
  /// Each rank does that at a time within so many seconds, and says what is new.
  void each_within(double seconds, const std::function<void(member&)>& does);
  void one(std::uint64_t rank, const std::function<void(member&)>& does);
  bool all(const std::function<bool(const member&)>& are) const;
  /// By a rank's own clock.
  virtual_time now() const { return net_.now() + seconds_of(100); }

  struct costs {
    /// Loads of the coordinator, and of the rank that was busiest.
    measured_network::load coordinator = {};
    measured_network::load rank = {};
    /// Spent in the coordinator's own code for each message.
    double seconds_per_message = 0;
  };
  /// Since the last call.
  costs take_costs();
  /// When the newest set began to be collected, and when it was stored.
  const std::optional<virtual_time>& collected() const { return collected_; }
  const std::optional<virtual_time>& stored() const { return stored_; }
  /// What the heap has for a coordinator that has heard of each rank what this one has.
  std::size_t bytes_of_coordinator() const;

private:
  struct rank_process {
    std::unique_ptr<member> value;
    source_id connection = 0;
    cluster_beat last = {};
  };

  std::unique_ptr<coordinator> make_coordinator(kept_in_memory& memory) const;
  void begin_ticks();
  void tick_rank(std::uint64_t rank, source_id connection);
  void speak(std::uint64_t rank);
  /// Nothing arrives from a connection that was closed meanwhile.
  template <class Message>
  void hear(source_id from, const Message& x,
            void (coordinator::*call)(source_id, const Message&, virtual_time)) {
    if (!by_connection_.contains(from))
      return;
    spent_([&] { (lead_.get()->*call)(from, x, now()); });
    send_output();
  }
  void send_output();
  void store(const set_command& x);
  cluster_hello hello_of_rank(std::uint64_t rank) const;

  const wish how_;
  measured_network net_;
  kept_in_memory memory_;
  std::vector<rank_process> ranks_;
  source_id connections_ = 0;
  std::map<source_id, std::uint64_t> by_connection_;
  std::uint64_t processes_begun_ = 0;
  std::unique_ptr<coordinator> lead_;
  thread_seconds spent_;
  virtual_time disk_{0};
  std::optional<virtual_time> collected_;
  std::optional<virtual_time> stored_;
};

} // namespace leat::test
