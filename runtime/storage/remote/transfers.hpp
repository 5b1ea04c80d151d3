#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/storage/remote/range_fetch.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>

namespace leat {

/// How servers are asked.
struct transfer_settings {
  retry_settings retry = {};
  /// Requests to one server that may be in flight: in the beginning, and at most.
  std::size_t first_in_flight = 16;
  std::size_t most_in_flight = 256;
  /// No request is sent a second time, while the first is still in flight, before that.
  std::chrono::nanoseconds hedge_after = std::chrono::milliseconds{50};
  /// A body of which less than a kilobyte per second comes for this long is asked for again.
  std::chrono::seconds stall{20};
  std::chrono::milliseconds connect{10'000};
  /// A server that has never answered is given up after this.
  std::chrono::nanoseconds first_answer = std::chrono::seconds{30};
};

/// What has happened so far. Any thread may read.
struct transfer_counts {
  std::atomic<std::uint64_t> requests{0};
  /// Bytes of bodies that were of use.
  std::atomic<std::uint64_t> bytes{0};
  std::atomic<std::uint64_t> retries{0};
  /// Requests that were sent while an earlier one for the same bytes was in flight, and those of
  /// them that were faster.
  std::atomic<std::uint64_t> hedges{0};
  std::atomic<std::uint64_t> hedges_won{0};
  /// Responses that contradicted the request.
  std::atomic<std::uint64_t> wrong{0};
};

/// Requests to servers, all in one thread: what is in flight is bounded per server, and does not
/// depend on how many threads wait. Any thread may call.
class transfers : not_copied {
public:
  explicit transfers(const transfer_settings& how);
  /// What has not ended fails.
  ~transfers();

  /// Begins a fetch; its `done` is called by the thread of the transfers, once `stop` is requested
  /// soon and with a failure. Throws std::bad_alloc.
  void begin(std::shared_ptr<range_fetch> x, const std::stop_token& stop);

  const transfer_counts& counts() const noexcept;

private:
  class loop;
  std::unique_ptr<loop> loop_;
};

} // namespace leat
