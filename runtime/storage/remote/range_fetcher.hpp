#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/storage/remote/range_fetch.hpp"
#include "runtime/storage/remote/transfer_counts.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>

namespace leat {

/// Where bytes of remote objects come from: their servers, or a cache before them. Any thread may
/// call.
class range_fetcher : not_copied {
public:
  virtual ~range_fetcher() = default;

  /// Begins a fetch; its `done` is called by another thread, once `stop` is requested soon and with
  /// a failure. Throws std::bad_alloc.
  virtual void begin(std::shared_ptr<range_fetch> x, const std::stop_token& stop) = 0;

  /// Reads bytes of an object from `begin` on in the caller's thread, if they are at hand: fills
  /// `into`, one after the other. False if not all of them are; anything may be there then.
  virtual bool read_at_hand(const remote_object&, std::uint64_t /*begin*/,
                            std::span<const std::span<std::byte>> /*into*/) {
    return false;
  }

  /// Calls `then` with whether `read_at_hand` will have these bytes, now or from another thread.
  /// Throws std::bad_alloc.
  virtual void look_for(const std::shared_ptr<remote_object>&, const byte_range&,
                        std::function<void(bool)> then) { // NOLINT: others keep it
    then(false);
  }
  /// Whether these bytes are so near that `read_at_hand` will not even open a file. Does not block.
  virtual bool is_open(const remote_object&, const byte_range&) noexcept { return false; }

  /// Of the requests to servers.
  virtual const transfer_counts& counts() const noexcept = 0;
};

} // namespace leat
