#pragma once

#include "runtime/cluster/member.hpp"
#include "tests/cluster/simulated_coordinator.hpp"
#include "tests/cluster/simulated_job.hpp"

namespace leat::test {

/// How a process relates to the job.
enum class belonging : std::uint8_t {
  member,
  /// It would train on something else.
  stranger,
  /// It wants other rules.
  false_start,
};

/// A rank's process: a member, the lists of batches that leat's runtime gives, and a trainer.
class simulated_rank final : public simulated_process {
public:
  /// `rank`: none for elastic jobs.
  simulated_rank(simulated_cluster& in, std::uint64_t host, std::optional<std::uint64_t> rank,
                 belonging what);

  void on_word(const cluster_word& word);
  void on_closed(connection_id x) override;

  std::optional<std::uint64_t> given_rank() const { return member_.hello().rank; }
  /// Makes its next batch bad.
  void spoil() { is_spoilt_ = true; }
  bool is_training() const { return state_ != trainer::away && state_ != trainer::ended; }
  /// When next() has thrown the job's failure.
  const std::optional<virtual_time>& threw() const { return threw_; }
  std::string describe() const;

private:
  enum class trainer : std::uint8_t {
    away,
    catching_up,
    waiting,
    training,
    /// Has handed over everything and waits for the others.
    done,
    failed,
    ended,
  };

  // The process:
  void tick();
  void dial();
  void greet();
  void hang_up();
  void look_around();
  void say();
  void alter(cluster_beat& x);
  void alter(cluster_word& x);
  void leave();
  // The trainer:
  void pump();
  void let_go();
  void load();
  void list_ahead();
  void list_one();
  bool settle();
  void catch_up();
  void hand_over();
  void trained(const job_position& at, const std::string& part);
  void go_on(const job_position& next, const std::string& part);
  void save(const job_position& at, const std::string& part);
  void wait_for_saved(bool waits);
  void finish();
  void raise();
  void end_epoch_if(bool ends);
  std::string part() const;
  seat_life life() const;
  /// Calls `what` after a time, unless the member has let go of its seat meanwhile.
  void later(virtual_time time, void (simulated_rank::*what)());

  simulated_cluster& in_;
  member member_;
  connection_id connection_ = 0;
  virtual_time heard_{0};
  virtual_time greeted_{0};
  virtual_time began_{0};
  std::map<std::uint64_t, virtual_time> sent_;
  std::optional<incarnation> seated_;
  bool has_stated_failure_ = false;
  bool failure_is_known_ = false;
  bool is_spoilt_ = false;
  /// Whether it waits until what it saved is stored.
  bool waits_ = false;
  std::optional<virtual_time> threw_;

  trainer state_ = trainer::away;
  rank_job job_;
  std::unique_ptr<batch_list> batches_;
  std::deque<listed_batch> listed_;
  bool is_listing_ = false;
  bool is_listed_to_the_end_ = false;
  job_position goal_;
};

} // namespace leat::test
