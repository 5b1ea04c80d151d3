#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/lending/borrowed_rows.hpp"
#include "runtime/lending/byte_allowance.hpp"
#include "runtime/lending/helper_queue.hpp"
#include "runtime/lending/lending_messages.hpp"
#include "runtime/lending/rank_visits.hpp"
#include "runtime/lending/worker_settings.hpp"
#include "runtime/network/certs/renewed_certificates.hpp"
#include "runtime/network/links/bulk_frame.hpp"
#include "runtime/network/links/connected_peer.hpp"
#include "runtime/network/links/wake_event.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// A process that makes rows for ranks: dials, keeps the connections, and has a thread for each
/// core that makes rows. The thread of run() dials, and makes the plan of a job that was lent;
/// where it finds a coordinator, each rank that this names has a thread that does so.
///
/// What it holds of a rank is bounded, whatever the rank does: offers by the window and a frame;
/// offers that travel in pieces, of all ranks together, by half of its memory or 256 MiB; answers
/// that the rank does not take by the window and a frame in the connection, one answer of each
/// core, and 16 MiB of others. A rank that has more, or that takes nothing for 10 s, is cut off.
class worker_node : not_copied {
public:
  worker_node(worker_settings settings, find_ranks find);
  ~worker_node();

  /// Until it is asked to end.
  void run();

private:
  class session;
  using session_ptr = std::shared_ptr<session>;

  std::uint64_t next_window() const LEAT_REQUIRES(mutex_);
  session_ptr begin_session(connected_peer peer);
  bool keep(const session_ptr& with, rank_line& of);
  void serve(const session_ptr& with, rank_line& of);
  void forget(session& x) noexcept;
  void prepare(const session_ptr& with, rank_line& of);
  bool wait_until(std::int64_t time);
  void end() noexcept;
  void log(const std::string& text) const;

  // Called by sessions.
  void receive_offer(session& from, const bulk_head& head,
                     std::shared_ptr<std::vector<char>> bytes);
  void receive_note(session& from, const bulk_head& head);
  void note_end(session& of, const std::string& why) noexcept;

  // Threads that make rows.
  void make_rows();
  void make(const helper_queue::task& task, session& of, borrowed_rows& with);
  bool send(const helper_queue::task& task, session& of, const std::vector<answered_row>& rows);
  void tell_not_made(session& to, std::uint64_t offer, std::size_t first, std::size_t end)
      LEAT_REQUIRES(mutex_);
  bool is_wanted(const helper_queue::task& task, const session& of) const LEAT_REQUIRES(mutex_);

  const worker_settings options_;
  const find_ranks find_;
  const std::shared_ptr<renewed_certificates> certificates_;
  /// For offers that travel in pieces.
  const byte_allowance large_offers_;
  wake_event stop_;

  mutex mutex_;
  condition_variable changed_;
  condition_variable has_work_;
  /// For threads whose rows a rank does not take yet.
  condition_variable has_room_;
  bool is_ending_ LEAT_GUARDED_BY(mutex_) = false;
  helper_queue queue_ LEAT_GUARDED_BY(mutex_);
  std::map<std::uint64_t, session_ptr> sessions_ LEAT_GUARDED_BY(mutex_);
  std::uint64_t last_session_ LEAT_GUARDED_BY(mutex_) = 0;
  joined_threads makers_;
};

} // namespace leat
