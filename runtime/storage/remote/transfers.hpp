#pragma once

#include "runtime/storage/remote/range_fetcher.hpp"
#include "runtime/storage/remote/transfer_counts.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <stop_token>

namespace leat {

/// How servers are asked.
struct transfer_settings {
  retry_settings retry = {};
  /// Requests to one server that may be in flight: in the beginning, and at most.
  std::size_t first_in_flight = 32;
  std::size_t most_in_flight = 256;
  /// No request is sent a second time, while the first is still in flight, before that.
  std::chrono::nanoseconds hedge_after = std::chrono::milliseconds{50};
  /// A body of which less than a kilobyte per second comes for this long is asked for again.
  std::chrono::seconds stall{20};
  std::chrono::milliseconds connect{10'000};
  /// A server that has never answered is given up after this.
  std::chrono::nanoseconds first_answer = std::chrono::seconds{30};
};

/// Requests to servers, all in one thread: what is in flight is bounded per server, and does not
/// depend on how many threads wait. Any thread may call.
class transfers final : public range_fetcher {
public:
  /// Counts in `counts` what it does.
  transfers(const transfer_settings& how, std::shared_ptr<transfer_counts> counts);
  /// What has not ended fails.
  ~transfers() override;

  /// Its `done` is called by the thread of the transfers.
  void begin(std::shared_ptr<range_fetch> x, const std::stop_token& stop) override;

  const transfer_counts& counts() const noexcept override;

private:
  class loop;
  std::unique_ptr<loop> loop_;
};

} // namespace leat
