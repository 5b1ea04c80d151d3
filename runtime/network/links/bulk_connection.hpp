#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/network/links/bulk_reader.hpp"
#include "runtime/network/links/bulk_writer.hpp"
#include "runtime/network/links/connected_peer.hpp"
#include "runtime/network/links/wake_event.hpp"

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace leat {

/// Who has a bulk connection. All of this is called in the connection's thread; nothing here may
/// wait, nor end the connection's life. What is thrown ends the connection.
class bulk_owner : public bulk_receiver {
public:
  /// `send` has refused a frame, and would take one now.
  virtual void may_send() = 0;
  /// The last call: nothing comes any more, nothing is sent, and no room is written to. `why` is
  /// empty after `cut`.
  virtual void ended(const std::string& why) noexcept = 0;
};

/// A connection for rows and what they are made of, with a thread of its own that sends and
/// receives. Both ends grant each other credit in bytes; nothing is sent without it, and a peer
/// that sends more is cut off before any memory is taken for it. So what one end holds is bounded
/// by what the other has granted, and by 64 MiB or what it was told.
class bulk_connection : not_copied {
public:
  /// Takes over a peer, whose socket `prepare_connection` has seen, and what has come from it
  /// already. `owner` outlives this. Takes no frame while so many bytes are unsent, whatever the
  /// peer has granted. Throws `errc::no_resources` and std::bad_alloc.
  bulk_connection(connected_peer peer, const frame_rules& from_peer, bulk_owner& owner,
                  std::int64_t most_unsent = std::int64_t{64} << 20);
  /// Cuts, and waits for the thread: not in a call of the owner.
  ~bulk_connection();

  /// Sends a frame, after those before it: takes it and returns true, or leaves it as it is if
  /// there is no credit, if too much is unsent, or after the end. Does not wait. Throws
  /// `errc::invalid_argument` if the frame is too large. Any thread.
  bool send(bulk_frame& x);
  /// Lets the peer send so many bytes more (`bulk_head::cost`). The first grant is the window:
  /// later ones are told to the peer when they are a quarter of it. Any thread.
  void grant(std::int64_t bytes);
  /// Bytes that have come, those of frames that are still coming among them. Any thread.
  std::uint64_t received() const noexcept { return received_; }
  /// Ends it at once, with what is unsent, whatever the peer does. Any thread.
  void cut() noexcept;

private:
  void run() noexcept;
  void receive_first();
  void take_waiting();
  void settle(std::int64_t done);
  void wait();
  void receive();
  void receive_sealed();
  void read_came();
  bool must_tell() const LEAT_REQUIRES(mutex_);

  connected_peer peer_;
  bulk_owner& owner_;
  const std::int64_t most_unsent_;
  const wake_event bell_;
  std::atomic<bool> is_cut_ = false;
  std::atomic<std::uint64_t> received_ = 0;
  // Of the thread.
  std::optional<bulk_reader> reader_;
  std::optional<bulk_writer> writer_;
  std::vector<char> buffer_;
  std::string_view came_;
  bool is_readable_ = false;

  mutex mutex_;
  struct shared {
    std::vector<bulk_parcel> queue = {};
    /// The peer's, and what is not sent yet of that which has used it.
    std::int64_t credit = 0;
    std::int64_t unsent = 0;
    bool is_refused = false;
    /// For the peer: not told to it yet, and how much makes that worth a frame.
    std::int64_t granted = 0;
    std::int64_t step = 0;
    /// The peer has used up what it was told.
    bool is_dry = true;
    /// The thread waits for the bell.
    bool is_asleep = false;
    bool is_over = false;
  };
  shared shared_ LEAT_GUARDED_BY(mutex_);
  std::thread thread_;
};

} // namespace leat
