#pragma once

#include "actors/caf/watched_actor.hpp"
#include "messages/interfaces.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/sample/live_source.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

namespace leat {

/// Tells the dispatcher that a record of a source that exists once has arrived. Used by one thread;
/// records arrive in any.
class feed_watch : not_copied {
public:
  ~feed_watch() { stop(); }

  /// `failed` is told if there is no memory for a message.
  void begin(const std::vector<std::shared_ptr<live_source>>& feeds, const dispatcher_actor& to,
             const failure_handler& failed);
  /// The message has come: the next record sends another.
  void heard() noexcept { is_called_->store(false); }
  /// Until then it holds a reference to the dispatcher.
  void stop();

private:
  /// True while a message is on its way: one is enough for any number of records.
  std::shared_ptr<std::atomic<bool>> is_called_ = std::make_shared<std::atomic<bool>>(false);
  /// Functions that end the feeds' calls.
  std::vector<std::function<void()>> hang_up_;
};

} // namespace leat
