#pragma once

#include "runtime/base/metrics.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/feeding/fed_job.hpp"
#include "runtime/feeding/feed_tally.hpp"
#include "runtime/feeding/link_out.hpp"
#include "runtime/feeding/passed_time.hpp"
#include "runtime/sample/live_source.hpp"
#include "runtime/sources/feed/feed_client.hpp"
#include "runtime/sources/live/change_listeners.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace leat {

/// Where a rank has its end of a feed: a fed_job for any thread, and what its iterators and workers
/// wait for.
class feed_station : not_copied {
public:
  struct settings {
    /// What is to be done if nobody serves it.
    std::string advice = {};
    /// Bytes of records that the rank has room for: as feed_client's.
    std::uint64_t window = std::uint64_t{64} << 20;
    /// Hears what users should know.
    std::function<void(const std::string&)> log = [](const std::string&) {};
  };
  feed_station(std::string its_name, settings chosen);

  const std::string name;

  // For the rank.
  /// Another job of the loader begins: the rank has these lanes, and nothing was looked at.
  void attend(const lanes_of_rank& place);
  /// These are the job's records: see feed_client::expect. `else_known`: unless it knows that.
  void expect(const feed_client::known_stream& x, bool else_known = false);
  /// As those of live_source.
  live_source::state peek(std::uint64_t number);
  void wait(std::uint64_t number, const std::atomic<bool>& stop);
  void wake();
  std::function<void()> on_change(std::function<void()> changed);
  void release_below(std::uint64_t number, std::uint64_t lane);
  void check_holds(std::uint64_t lowest, std::uint64_t behind);
  struct record {
    /// Not null.
    fetched_records::content content = {};
    feed_format format = feed_format::lines;
  };
  /// The job cannot continue, and why; the first reason stays. Any thread.
  void fail(const std::string& why);
  /// Waits for a record that `peek` has called ready. Throws the feed's failure;
  /// `errc::interrupted` after `wake`.
  record read(std::uint64_t number);
  /// What a feed has served last; nothing if none was there.
  std::optional<feed_client::known_stream> served() const noexcept;
  /// Any thread.
  feed_tally tally() const;

  // For links.
  /// Why a feed that says this is refused; empty: it is not, as far as this rank knows.
  std::string refusal_of(const feed_offer& x) const;
  /// Takes the link, in place of the present one, and what it has said. Else why it is refused.
  /// `address`: "host:port" of its other end.
  std::string join(const std::shared_ptr<link_out>& by, const feed_offer& x,
                   const std::string& address);
  /// These three do nothing for a link that is not the present one.
  void heard(const link_out& by, const feed_offer& x);
  /// False if the feed may not send one of them, or if it is none. `payload`: what has come.
  bool receive(const link_out& by, const std::shared_ptr<const void>& owner,
               std::string_view payload);
  void lost(const link_out& by);
  /// Says what could have waited. To be called about once a second, and when the rank leaves.
  void tick(std::int64_t now);
  /// What was said on links so far; any thread adds to it.
  struct link_costs {
    counter wire_bytes;
    time_counter processor;
  };
  link_costs costs;

private:
  void pump(bool now, bool all = false) LEAT_REQUIRES(mutex_);

  const settings settings_;
  change_listeners listeners_;

  mutable mutex mutex_;
  condition_variable came_;
  std::unique_ptr<fed_job> job_ LEAT_GUARDED_BY(mutex_);
  std::optional<feed_client::known_stream> stream_ LEAT_GUARDED_BY(mutex_);
  /// The present link; null: none.
  std::shared_ptr<link_out> out_ LEAT_GUARDED_BY(mutex_);
  /// Since when there is none, and whether users know.
  std::int64_t absent_since_ LEAT_GUARDED_BY(mutex_);
  bool is_absence_told_ LEAT_GUARDED_BY(mutex_) = false;
  /// Why the job cannot continue, besides what its client knows.
  std::string fault_ LEAT_GUARDED_BY(mutex_);
  unsigned calls_ LEAT_GUARDED_BY(mutex_) = 0;

  struct counted {
    /// The peer of the present link, or of the last one.
    std::string address = {};
    /// In former jobs.
    std::uint64_t records_taken = 0;
    std::uint64_t records_received = 0;
    std::uint64_t bytes_received = 0;
    passed_time starved = {};
    passed_time fetching = {};
  };
  counted counted_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
