#pragma once

#include <caf/actor_cast.hpp>
#include <caf/actor_control_block.hpp>
#include <caf/exit_reason.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/message_id.hpp>
#include <caf/no_stages.hpp>
#include <caf/system_messages.hpp>

#include <utility>

namespace leat {

/// Asks an actor to end. The message is made in advance, so that a job can end which has no memory
/// left.
class prepared_exit {
public:
  prepared_exit() = default;
  template <class Handle>
  explicit prepared_exit(const Handle& to)
      : to_(caf::actor_cast<caf::strong_actor_ptr>(to)),
        what_(caf::make_mailbox_element(
            nullptr, caf::make_message_id(caf::message_priority::high), caf::no_stages,
            caf::exit_msg{to.address(), caf::exit_reason::user_shutdown})) {}

  /// Once; does nothing again, or where there is no actor.
  void send() {
    if (what_)
      std::exchange(to_, nullptr)->enqueue(std::move(what_), nullptr);
  }

private:
  caf::strong_actor_ptr to_;
  caf::mailbox_element_ptr what_;
};

} // namespace leat
