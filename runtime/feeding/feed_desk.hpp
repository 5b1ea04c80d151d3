#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/sources/feed/feed_server.hpp"

#include <leat/error.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace leat {

/// What all threads of a feed's process share: those of its source, and one for each rank.
class feed_desk : not_copied {
public:
  feed_desk(feed_server state, std::function<void(const std::string&)> log)
      : server(std::move(state)), log_(std::move(log)) {}

  /// There may be something to do for anyone.
  void tell_all() LEAT_REQUIRES(guard);
  /// There is something for the source's threads, and for those ranks whose records came.
  void tell_news() LEAT_REQUIRES(guard);
  /// Whoever serves ranks is to stop; the source's threads first tell it what is covered.
  void end() noexcept;
  /// What came before stays good, but no rank continues.
  void fail(const error& problem) noexcept;

  mutable mutex guard;
  /// For the threads of the source, and whoever waits for the end.
  condition_variable changed;
  feed_server server LEAT_GUARDED_BY(guard);
  bool is_ending LEAT_GUARDED_BY(guard) = false;
  std::optional<error> failure LEAT_GUARDED_BY(guard);
  /// What the threads of ranks wait for, by the numbers of their links.
  std::map<std::uint64_t, condition_variable*> ranks LEAT_GUARDED_BY(guard);

private:
  const std::function<void(const std::string&)> log_;
};

} // namespace leat
