#pragma once

#include "runtime/base/metrics.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/feeding/feed_desk.hpp"
#include "runtime/feeding/feed_settings.hpp"
#include "runtime/lending/rank_visits.hpp"
#include "runtime/network/certs/renewed_certificates.hpp"
#include "runtime/network/links/bulk_frame.hpp"
#include "runtime/network/links/connected_peer.hpp"
#include "runtime/network/links/wake_event.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace leat {

/// The process that reads a source that exists once, and serves its records to ranks: `feed_server`
/// with records and connections. The source has its threads, and each rank has one that dials it
/// and sends what it asks for.
class feed_node : not_copied {
public:
  /// Opens the journal. Throws as `checked` and `open_records`.
  feed_node(feed_settings settings, find_ranks find);
  ~feed_node();

  /// Until it is asked to end, or the source has ended and all ranks are done. Throws the source's
  /// failure, once no rank is left that has to hear of it.
  void run();
  /// It serves nobody any more, and is about to return from `run`, or has. Any thread.
  bool is_ending() const {
    const mutex_lock lock{desk_.guard};
    return desk_.is_ending;
  }
  /// What records have cost so far. Any thread.
  feed_costs costs() {
    const mutex_lock lock{desk_.guard};
    return desk_.server.state().costs;
  }

private:
  class session;

  bool keep(connected_peer peer, rank_line& of);
  std::shared_ptr<session> begin_session(connected_peer peer);
  void serve(session& with);
  void send_records(session& to, const served_rank::portion& some);
  std::optional<feed_records::found> find(std::uint64_t number, sample& holds) const;
  void forget(session& x) noexcept;
  bool wait_until(std::int64_t time);
  void end() noexcept;

  // Called by sessions.
  void hear_wants(session& from, std::string_view bytes);
  void hear_note(session& from, const bulk_head& head);
  void note_end(session& of, const std::string& why) noexcept;

  const feed_settings options_;
  const find_ranks find_;
  const std::shared_ptr<renewed_certificates> certificates_;
  feed_records records_;
  wake_event stop_;

  feed_desk desk_;
  std::map<std::uint64_t, std::shared_ptr<session>> sessions_ LEAT_GUARDED_BY(desk_.guard);
  std::uint64_t last_session_ LEAT_GUARDED_BY(desk_.guard) = 0;
  /// Ranks of a world of this size that have had all records.
  struct done_ranks {
    std::uint64_t world_size = 0;
    std::set<std::uint64_t> ranks = {};
  };
  done_ranks done_ LEAT_GUARDED_BY(desk_.guard);
};

} // namespace leat
