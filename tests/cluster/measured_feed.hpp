#pragma once

#include "runtime/sources/feed/feed_client.hpp"
#include "runtime/sources/feed/feed_server.hpp"
#include "tests/cluster/measured_network.hpp"

namespace leat::test {

/// A feed's server and the clients of a large job, as they are, in a network without faults that
/// measures them. The feed is process 0, ranks are those from 1 on. Each rank trains on a record as
/// soon as it has it.
class measured_feed {
public:
  struct wish {
    std::uint64_t ranks = 100;
    std::uint64_t lanes_per_rank = 2;
    /// Records come one by one, so many per second for each rank.
    double records_per_second = 2;
    std::size_t record_bytes = 2000;
  };
  explicit measured_feed(const wish& how);

  /// All ranks connect within that time.
  void connect(double within);
  void run(double seconds) { net_.pass(seconds_of(seconds)); }
  /// No record comes any more. Returns after how long all know that.
  double end_source();

  struct costs {
    measured_network::load feed = {};
    measured_network::load rank = {};
    /// Spent in the feed's own code for each message.
    double seconds_per_message = 0;
    /// That came from the source.
    std::uint64_t records = 0;
    /// The longest time from when the source had a record until its rank had trained on it.
    double longest_s = 0;
  };
  /// Since the last call.
  costs take_costs();
  /// Records that ranks have trained on. All have done that in order.
  std::uint64_t trained() const noexcept { return trained_; }
  std::uint64_t came() const noexcept { return came_at_.size(); }
  /// What the heap has for a server that has heard of each rank what this one has.
  std::size_t bytes_of_server() const;

private:
  struct rank_process {
    std::unique_ptr<feed_client> value;
    bool is_linked = false;
    feed_want last = {};
    /// For each lane, the next record that it looks at, and those that it waits for.
    std::vector<std::uint64_t> looks_at = {};
    std::deque<std::uint64_t> open = {};
  };

  lanes_of_rank place_of(std::uint64_t rank) const;
  void read();
  void talk(std::uint64_t rank);
  void tick(std::uint64_t rank);
  void say(std::uint64_t rank, bool all);
  void hear(std::uint64_t rank, const feed_offer& x);
  void receive(std::uint64_t rank, const std::vector<std::uint64_t>& numbers);
  void look(std::uint64_t rank);

  const wish how_;
  measured_network net_;
  const feed_offer none_;
  feed_server server_;
  std::vector<rank_process> ranks_;
  thread_seconds spent_;
  /// When the source had each record.
  std::vector<virtual_time> came_at_;
  bool has_ended_ = false;
  std::uint64_t read_before_ = 0;
  std::uint64_t trained_ = 0;
  virtual_time longest_{0};
};

} // namespace leat::test
