#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/feeding/feed_notes.hpp"
#include "runtime/feeding/feed_station.hpp"
#include "runtime/network/links/bulk_frame.hpp"
#include "runtime/network/links/port_guard.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace leat {

class refusal_log;

struct feed_hall_config {
  /// Where feeds connect; roles and the rest of `rules` but the token are set here.
  guard_config guard = {};
  std::vector<std::shared_ptr<feed_station>> stations = {};
  /// The records that serve the job under the name of these, for all of its ranks. Nothing: that is
  /// open after a moment in which the judge has waited for it, and it is asked again. Called in a
  /// thread of the hall. Empty: the first that come to this rank.
  using stream = feed_client::known_stream;
  std::function<std::optional<stream>(const feed_offer&)> judge = {};
  /// Hears what users should know.
  std::function<void(const std::string&)> log = {};
};

/// Where feeds connect to a rank, as long as this lives, and the rank that serves sources of its
/// own: brings each to the station of its name. What they say is heard by the threads of their
/// connections.
class feed_hall : not_copied {
public:
  /// Listens, and lets feeds in. Throws what port_guard throws.
  explicit feed_hall(feed_hall_config config);
  /// Takes leave of all feeds.
  ~feed_hall();

  /// The rank has had all batches of its job, which feeds hear at the end; or not yet, since it has
  /// gone back to an earlier set. Any thread.
  void finish(bool is_done = true) noexcept { is_done_ = is_done; }

  std::uint16_t port() const noexcept { return guard_->port(); }

private:
  class link;

  void admit(connected_peer peer);
  void hear_offer(link& from, std::string_view bytes);
  void hear_records(link& from, const std::shared_ptr<const void>& owner, std::string_view payload);
  void note_end(link& of, const std::string& why) noexcept;

  // The hall's own thread.
  void run();
  bool turn(refusal_log& refusals, std::int64_t& next_tick);
  void part_from(const std::vector<std::unique_ptr<link>>& ended, refusal_log& refusals);
  bool seat(link& x, const feed_offer& offer);
  void refuse(link& x, const std::string& why, feed_note by);
  bool is_served_by_other(const feed_station& at, const feed_offer& x) LEAT_REQUIRES(mutex_);
  void tick(std::int64_t now) LEAT_REQUIRES(mutex_);
  std::vector<std::unique_ptr<link>> take_ended() LEAT_REQUIRES(mutex_);
  void say_farewell();

  const feed_hall_config config_;
  std::unique_ptr<port_guard> guard_;

  mutex mutex_;
  condition_variable changed_;
  std::map<std::uint64_t, std::unique_ptr<link>> links_ LEAT_GUARDED_BY(mutex_);
  std::uint64_t last_link_ LEAT_GUARDED_BY(mutex_) = 0;
  bool has_news_ LEAT_GUARDED_BY(mutex_) = false;
  bool is_ending_ LEAT_GUARDED_BY(mutex_) = false;
  std::atomic<bool> is_done_ = false;
  std::thread thread_;
};

} // namespace leat
