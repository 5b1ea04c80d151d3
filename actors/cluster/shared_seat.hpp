#pragma once

#include "actors/cluster/cluster_rank.hpp"
#include "actors/loader_seat.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace leat {

/// A loader's seat in a cluster, or the wait for one.
class shared_seat final : public loader_seat {
public:
  shared_seat(const pipeline& data, loader_options options);
  ~shared_seat() override;

  void begin() override;
  void join() override;
  std::optional<resume_point> restore(const std::string& path,
                                      const restore_options& options) override;
  void resume_at(std::uint64_t global_step) override;
  seat_facts facts() const noexcept override;
  lease next() override;
  void save(const std::string& directory, const job_progress& at) override;
  void wait_saved() override;
  void finish() override;

private:
  /// Takes a seat, and moves the job to where it begins.
  void sit();
  void stand_at(const cluster_seat& seat);
  /// Waits for a new seat, then throws `errc::regrouped`, or `errc::cluster` if there is none.
  [[noreturn]] void regroup();
  /// Tells the other ranks, and throws; each later next() throws the same.
  [[noreturn]] void fail(const error& problem);
  template <class Wait>
  void wait_in_seat(Wait wait);
  /// Throws `errc::io`, once, if a set was not stored.
  void check_stored();
  /// For a loader that has joined.
  lease next_batch();
  lease next_in_seat();
  /// The place after the oldest batch that the trainer holds.
  job_position oldest_held(const job_position& otherwise);

  enum class where : std::uint8_t {
    /// It has never had a seat.
    outside,
    seated,
    unseated,
    /// It was over before this process had a seat in its last term.
    job_is_over,
  };

  /// The user's `while_waiting`.
  const std::function<bool()> asked_;
  /// False once a wait is to end, because the caller gives up or the seat is lost.
  const std::function<bool()> lasts_;
  restore_options restore_options_;
  /// Where the job's sets are kept, and where it wants to begin; empty: nowhere.
  std::string sets_;
  std::optional<job_position> wanted_start_;
  /// Null before it has joined.
  std::unique_ptr<cluster_rank> rank_;
  /// Where the job stands after each batch after which the trainer may still save, in order.
  std::deque<std::weak_ptr<const job_progress>> held_;
  where where_ = where::outside;
  /// The job was restored, or has begun.
  bool has_moved_ = false;
  /// The trainer has had all batches.
  bool has_ended_ = false;
  /// The trainer must say where it resumes.
  bool must_resume_ = false;
  /// The trainer has said where it resumes.
  bool has_resumed_ = false;
  std::optional<error> failure_;
  std::uint64_t told_store_failures_ = 0;
  /// The version of the `membership` at which it was last found in its seat.
  std::uint64_t checked_version_ = 0;
};

} // namespace leat
