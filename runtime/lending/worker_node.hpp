#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/lending/helper_queue.hpp"
#include "runtime/lending/lent_job.hpp"
#include "runtime/network/certs/renewed_certificates.hpp"
#include "runtime/network/links/bulk_frame.hpp"
#include "runtime/network/links/connected_peer.hpp"
#include "runtime/network/links/wake_event.hpp"

#include <leat/worker_node.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace leat {

/// A process that makes rows for ranks: dials, keeps the connection, and has a thread for each core
/// that makes rows. The thread of run() dials, and makes the plan of a job that was lent.
class worker_node : not_copied {
public:
  explicit worker_node(worker_options options);
  ~worker_node();

  /// Until it is asked to end.
  void run();

private:
  class session;
  struct row_maker;
  using session_ptr = std::shared_ptr<session>;

  void dial_and_help();
  session_ptr begin_session(connected_peer peer);
  void keep(const session_ptr& with);
  void prepare(const session_ptr& with);
  bool wait_until(std::int64_t time);
  void log(const std::string& text) const;

  // Called by sessions.
  void receive_offer(session& from, std::uint64_t number, std::shared_ptr<std::vector<char>> bytes);
  void receive_note(session& from, const bulk_head& head);
  void note_end(session& of, const std::string& why) noexcept;

  // Threads that make rows.
  void make_rows();
  void make(const helper_queue::task& task, session& of, row_maker& with);

  const worker_options options_;
  const std::shared_ptr<renewed_certificates> certificates_;
  const std::uint64_t window_;
  wake_event stop_;
  std::string told_;

  mutex mutex_;
  condition_variable changed_;
  condition_variable has_work_;
  bool is_ending_ LEAT_GUARDED_BY(mutex_) = false;
  helper_queue queue_ LEAT_GUARDED_BY(mutex_);
  std::map<std::uint64_t, session_ptr> sessions_ LEAT_GUARDED_BY(mutex_);
  std::uint64_t last_session_ LEAT_GUARDED_BY(mutex_) = 0;
  joined_threads makers_;
};

} // namespace leat
