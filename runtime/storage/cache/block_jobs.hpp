#pragma once

#include "runtime/storage/cache/cache_counts.hpp"
#include "runtime/storage/cache/cache_directory.hpp"
#include "runtime/storage/cache/cached_read.hpp"
#include "runtime/storage/cache/disk_tasks.hpp"
#include "runtime/storage/cache/part_watch.hpp"
#include "runtime/storage/remote/range_fetcher.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <stop_token>
#include <unordered_map>
#include <vector>

namespace leat {

/// The blocks that are being fetched whole, each once however many reads want a part of it: claimed
/// first, so that no other process fetches it, too. Any thread.
class block_jobs : not_copied {
public:
  block_jobs(std::shared_ptr<range_fetcher> from, cache_directory& directory, disk_tasks& disk,
             cache_counts& counts, std::chrono::nanoseconds patience);
  /// Waits for what is in hand. No read may wait.
  ~block_jobs();

  /// A part of a block that a read waits for.
  struct wanted {
    std::shared_ptr<cached_read> by;
    /// Within the object.
    byte_range range;
  };

  /// Gives it from a block that is in hand; false if there is none.
  bool join(const block_id& id, const wanted& x);
  /// The same; if there is none, a block's job begins, now or when others have ended.
  void fetch(const block_id& id, const wanted& x);
  /// Fetches no more than what is wanted.
  void pass_by(const wanted& x);

private:
  struct job {
    block_id id;
    std::shared_ptr<remote_object> object;
    byte_range range;
    bool is_urgent = false;
    bool is_begun = false;
    block_claim claim = {};
    std::optional<std::uint64_t> watch = {};
    part_watch::clock::time_point deadline = {};
    bool has_changed = false;
    /// All of it, once the bytes are here.
    std::shared_ptr<std::byte[]> bytes = {};
    bool is_here = false;
    std::vector<wanted> waiting = {};
  };
  using job_ptr = std::shared_ptr<job>;
  /// In memory and in the network, whatever they wait for.
  static constexpr std::size_t most_begun = 32;

  void begin_some();
  job_ptr next_to_begin() LEAT_REQUIRES(mutex_);
  void later(const job_ptr& x, void (block_jobs::*what)(const job_ptr&));
  // Called by threads of the disk, except for `come`.
  void attempt(const job_ptr& x);
  bool is_over_after_attempt(const job_ptr& x);
  bool is_over_after_wait(const job_ptr& x);
  void end_watch(job& x);
  void request(const job_ptr& x);
  void come(const job_ptr& x, const read_result& result);
  void give(const job_ptr& x);
  void store(const job_ptr& x);
  void pass_all(const job_ptr& x);
  void fail_all(const job_ptr& x, const std::shared_ptr<const error>& failure);
  void end(const job_ptr& x);
  std::vector<wanted> take_waiting(const job_ptr& x, bool is_here);

  const std::shared_ptr<range_fetcher> from_;
  cache_directory& directory_;
  disk_tasks& disk_;
  cache_counts& counts_;
  const std::chrono::nanoseconds patience_;
  std::stop_source stop_;
  mutex mutex_;
  condition_variable all_ended_;
  std::unordered_map<block_id, job_ptr, hash_of_block> jobs_ LEAT_GUARDED_BY(mutex_);
  /// Not begun yet; one may be in both.
  std::deque<job_ptr> urgent_ LEAT_GUARDED_BY(mutex_);
  std::deque<job_ptr> others_ LEAT_GUARDED_BY(mutex_);
  std::size_t begun_ LEAT_GUARDED_BY(mutex_) = 0;
  /// Null where the system watches no files: then nobody waits for others.
  std::unique_ptr<part_watch> watch_;
};

} // namespace leat
