#pragma once

#include "actors/current_job.hpp"
#include "actors/make_feeds.hpp"
#include "runtime/base/log_lines.hpp"

#include <leat/loader.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// What a seat in a cluster is like.
struct seat_facts {
  /// 0: none.
  std::uint64_t term = 0;
  /// The others continued while the rank was lost, and the trainer has not said where it resumes.
  bool has_come_back = false;
  /// The trainer has said so.
  bool has_resumed = false;
  /// The job was over before this process had a seat.
  bool is_over = false;
};

/// A loader's place among the ranks of its job: has the job made, and says when it may begin, hand
/// over, save and end. This one is alone, and says yes; in a cluster there is `shared_seat`. One
/// thread.
class loader_seat {
public:
  loader_seat(const pipeline& data, loader_options options)
      : options_(std::move(options)), feeds_(data, options_), current_(feeds_.data()) {}
  virtual ~loader_seat() = default;
  loader_seat(const loader_seat&) = delete;
  loader_seat& operator=(const loader_seat&) = delete;

  const loader_mark& mark() const noexcept { return current_.mark(); }
  current_job& current() noexcept { return current_; }
  /// Throws as current_job::get().
  loader_job& job() const { return current_.get(); }
  /// Throws `errc::invalid_argument` in a cluster, where a call may not move one rank alone.
  void check_alone(const char* stage) const;
  /// Throws `errc::invalid_argument` for a batch of another job.
  void check_lent(const char* stage, const job_progress& at, const lease_desk& of) const;
  void set_weights(const std::vector<double>& weights, std::optional<std::uint64_t> from);

  /// The first line of a log of this rank; nothing if the job was over before this process joined.
  std::optional<attempt_start> attempt() const;

  /// The first call: opens the data.
  virtual void begin();
  virtual void join() {}
  virtual std::optional<resume_point> restore(const std::string& path,
                                              const restore_options& options);
  virtual void resume_at(std::uint64_t global_step);
  virtual seat_facts facts() const noexcept { return {}; }
  /// Any thread.
  loader_stats stats() const;
  virtual lease next();
  virtual void save(const std::string& directory, const job_progress& at);
  virtual void wait_saved() { job().wait_saved(); }
  virtual void finish() { wait_saved(); }

protected:
  /// Rank and world size are those of the seat.
  loader_options options_;
  /// Outlives what reads them.
  loader_feeds feeds_;
  current_job current_;
};

/// For a loader with these options. Opens the data.
std::unique_ptr<loader_seat> make_seat(const pipeline& data, loader_options options);

} // namespace leat
