#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

namespace leat {

/// Tells of refused connections: of the first ones of each minute, and of how many others there
/// were, so that strangers cannot fill a log. One thread.
class refusal_log {
public:
  using time_point = std::chrono::steady_clock::time_point;

  static constexpr std::uint64_t most_per_minute = 10;

  /// An empty function: nobody is told.
  explicit refusal_log(std::function<void(const std::string&)> tell) : tell_(std::move(tell)) {}

  /// `address` and what its owner did.
  void add(const std::string& address, const std::string& why, time_point now);

private:
  std::function<void(const std::string&)> tell_;
  time_point minute_ = {};
  std::uint64_t told_ = 0;
  std::uint64_t untold_ = 0;
};

} // namespace leat
