#pragma once

#include "tests/cluster/feed_world.hpp"
#include "tests/cluster/row_needs.hpp"

#include <list>

namespace leat::test {

/// A rank's process: lanes that look at numbers and probe contents, rows that need some, workers
/// that make them, and a link to the feed.
class fed_rank final : public simulated_process {
public:
  fed_rank(feed_world& in, std::uint64_t host);

  // By the trainers:
  /// Begins again with a set. `places` are those of all lanes.
  void sit(const lanes_of_rank& place, std::uint64_t term, std::uint64_t step,
           const lane_places& places);
  void let_go();
  std::uint64_t term() const { return term_; }
  /// The next batch to be trained on.
  std::uint64_t step() const { return step_; }
  /// Its rows of that batch, by lane, if it has it.
  const std::map<std::uint64_t, std::vector<std::string>>* batch() const;
  /// Some lane has no further batch.
  bool is_at_end() const;
  void trained();
  std::string failure() const { return client_ ? client_->failure() : std::string{}; }
  std::string describe() const;

  // From the feed:
  void on_offer(connection_id from, const std::string& bytes);
  void on_records(connection_id from, const std::string& bytes);
  void on_sign(connection_id from);
  void on_closed(connection_id x) override;

private:
  struct probe {
    std::uint64_t number = 0;
    std::optional<bool> keeps = {};
  };
  struct lane {
    /// Of its records, how many were looked at, and those that were given to batches.
    std::uint64_t looked = 0;
    std::deque<probe> probes = {};
    std::deque<std::uint64_t> items = {};
    bool has_ended = false;
  };
  struct open_batch {
    std::vector<feed_user> rows = {};
    lane_places places = {};
    std::map<std::uint64_t, std::vector<std::string>> made = {};
    std::size_t left = 0;
  };
  struct task {
    std::uint64_t lane = 0;
    std::vector<std::uint64_t> numbers = {};
    open_batch* batch = nullptr;
    std::size_t index = 0;
  };

  void tick();
  void dial();
  void hang_up();
  void pump();
  bool look(std::uint64_t of, lane& x);
  void take_items(lane& x);
  bool open_next();
  void work();
  void finish(const feed_user& user);
  void stored(std::uint64_t oldest);
  void cover();
  void say(bool all);
  void check_bounds();

  feed_world& in_;
  connection_id connection_ = 0;
  /// The offer that makes it the client's link has come.
  bool is_taken_ = false;
  virtual_time heard_{0};

  std::uint64_t life_ = 0;
  std::uint64_t term_ = 0;
  std::uint64_t step_ = 0;
  lanes_of_rank place_;
  std::optional<feed_client> client_;
  std::map<std::uint64_t, lane> lanes_;
  std::list<open_batch> open_;
  std::map<feed_user, task> waiting_;
  std::map<feed_user, task> claimed_;
  std::set<feed_user> begun_;
  std::uint64_t users_ = 0;
  row_needs needs_;
  std::map<std::uint64_t, lane_places> saved_;
};

} // namespace leat::test
