#pragma once

#include "messages/interfaces.hpp"
#include "runtime/base/threads/gate.hpp"
#include "runtime/rows/batch_slot.hpp"
#include "runtime/sample/batch_layout.hpp"

#include <caf/stateful_actor.hpp>
#include <caf/system_messages.hpp>
#include <caf/typed_event_based_actor.hpp>

#include <deque>
#include <functional>
#include <memory>

namespace leat {

/// Takes finished batches. Called only by the batcher, in order; must not block.
using batch_sink = std::function<void(slot_ptr)>;

/// What the batcher does for each message.
class batcher_state {
public:
  static inline const char* name = "batcher";
  using pointer = batcher_actor::stateful_pointer<batcher_state>;

  explicit batcher_state(pointer self) noexcept : self_(self) {}

  void begin(const dispatcher_actor& dispatcher, const batch_sink& sink);
  void reserve(slot_ptr slot);
  /// Closes the oldest batches, as far as they are complete.
  void close();
  void fail(error problem);
  /// The dispatcher died.
  void down(const caf::down_msg& x);

private:
  bool has_failed() const noexcept { return failed_->plan().what == batch_plan::kind::failed; }

  pointer self_;
  dispatcher_actor dispatcher_;
  batch_sink sink_;
  /// Batches in order, from the oldest that was not handed over.
  std::deque<slot_ptr> batches_;
  /// Takes the place of every batch once there is a failure: none can be finished any more. Made in
  /// advance, so that reporting a failure takes no memory; it is not the slot of any batch, as
  /// workers may still write into those.
  slot_ptr failed_ = std::make_shared<batch_slot>(std::make_shared<const batch_layout>(), 0);
};

/// Spawn with `system.spawn(batcher, dispatcher, sink, alive)`. Lives until an exit message.
batcher_actor::behavior_type batcher(batcher_state::pointer self,
                                     const dispatcher_actor& dispatcher, const batch_sink& sink,
                                     gate_token alive);

} // namespace leat
