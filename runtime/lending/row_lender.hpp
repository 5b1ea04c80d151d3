#pragma once

#include "messages/chunk.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/listener.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/lending/byte_allowance.hpp"
#include "runtime/lending/lender_state.hpp"
#include "runtime/lending/lending_messages.hpp"
#include "runtime/lending/offer_writer.hpp"
#include "runtime/network/links/bulk_frame.hpp"
#include "runtime/network/links/port_guard.hpp"
#include "runtime/rows/batch_slot.hpp"

#include <leat/error.hpp>
#include <leat/pipeline.hpp>

#include <chrono>
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

struct row_lender_config {
  /// Where helpers connect; roles and the rest of `rules` but the token are set here.
  guard_config guard = {};
  lender_settings settings = {};
  /// An encoded lent_job.
  std::string job = {};
  std::shared_ptr<const job_plan> plan = {};
  /// The job's, for records that are sent. Empty: they cannot be.
  std::optional<pipeline> data = {};
  /// Hears what users should know: who helps, who cannot. It may call stats().
  std::function<void(const std::string&)> log = {};
};

/// What lending needs of those that make batches. Called in threads of the lender.
struct row_lender_calls {
  /// The last row of a batch, or of something else, was received.
  std::function<void(bool is_batch)> completed = {};
  /// Rows for workers of this process.
  std::function<void(chunk)> deal = {};
  /// What workers of this process have made since the job began; empty: not known.
  std::function<leat::made_here()> made_here = {};
  /// The lender has failed, and rows may be lost.
  std::function<void(error)> failed = {};
};

struct row_lender_stats : lender_counts {
  /// That make rows now.
  std::uint64_t helpers = 0;
  std::uint64_t cores = 0;
  /// That offers and answers had.
  std::uint64_t bytes_sent = 0;
  std::uint64_t bytes_received = 0;
};

/// Lends rows of one rank's batches to helpers, which connect to its port: `lender_state` with
/// connections, and a thread of its own that reads records and sends offers. What helpers answer is
/// written into slots by the threads of their connections.
///
/// What it holds is bounded, whatever helpers do: of each a window of 8 MiB and a frame of what has
/// come, one offer and 16 MiB of notes that it does not take; of all together the budget, and rows
/// in pieces up to the budget or one of any size. A helper that has more, or that takes nothing for
/// `dead_after`, is cut off.
class row_lender : not_copied {
public:
  /// Listens. Throws what port_guard throws.
  explicit row_lender(row_lender_config config);
  ~row_lender();

  /// Lets helpers in. Call it once.
  void begin(row_lender_calls calls);
  /// A batch or a probe was opened, whose rows workers claim. Waits for nothing. Any thread.
  void opened(const std::shared_ptr<batch_slot>& slot);
  /// Takes leave of all helpers: nothing is written into slots, and nobody is called, after that.
  /// False if the lender's thread has not returned from a read by then; it does nothing more once
  /// it has. This may be called again, and the destructor waits for it.
  bool end(std::chrono::steady_clock::time_point until) noexcept;
  /// When the read began that has not returned; 0: there is none. Any thread.
  std::int64_t reads_since() const noexcept { return writer_.reads_since(); }

  /// Hears of lent rows that workers here take: their helpers are told at once. Any thread.
  const std::shared_ptr<listener>& taken() const noexcept { return taken_; }

  std::uint16_t port() const noexcept { return guard_->port(); }
  /// Any thread.
  row_lender_stats stats() const;

private:
  class link;

  void admit(connected_peer peer);
  void hear_note(link& from, std::string_view words);
  void receive_rows(link& from, const bulk_head& head, std::string_view bytes);
  std::optional<row_place> receive_row(link& from, std::uint64_t offer, const answered_row& x);
  void flush(link& of);
  void note_end(link& of, const std::string& why) noexcept;

  // The lender's own thread.
  void run();
  std::vector<std::unique_ptr<link>> take_ended() LEAT_REQUIRES(mutex_);
  void send(const lender_state::offer& x);
  void say_alive(std::int64_t now) LEAT_REQUIRES(mutex_);
  void measure(std::int64_t now) LEAT_REQUIRES(mutex_);

  const row_lender_config config_;
  /// For rows that travel in pieces.
  const byte_allowance large_rows_;
  row_lender_calls calls_;
  /// Of rows that workers here take back: helpers are told at once.
  const std::shared_ptr<listener> taken_;
  std::unique_ptr<port_guard> guard_;
  offer_writer writer_;

  mutable mutex mutex_;
  condition_variable changed_;
  lender_state state_ LEAT_GUARDED_BY(mutex_);
  std::map<std::uint64_t, std::unique_ptr<link>> links_ LEAT_GUARDED_BY(mutex_);
  std::uint64_t last_link_ LEAT_GUARDED_BY(mutex_) = 0;
  row_lender_stats stats_ LEAT_GUARDED_BY(mutex_);
  struct flags {
    bool has_news = false;
    bool is_ending = false;
    /// The thread has nothing more to do.
    bool has_stopped = false;

    void tell(condition_variable& thread) {
      has_news = true;
      thread.notify_one();
    }
  };
  flags now_ LEAT_GUARDED_BY(mutex_);
  std::int64_t next_sign_ LEAT_GUARDED_BY(mutex_) = 0;
  std::thread thread_;
};

} // namespace leat
