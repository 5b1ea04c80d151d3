#pragma once

#include <caf/actor_config.hpp>
#include <caf/actor_control_block.hpp>
#include <caf/actor_system.hpp>
#include <caf/mailbox_element.hpp>
#include <caf/make_actor.hpp>
#include <caf/message.hpp>
#include <caf/message_id.hpp>
#include <caf/monitorable_actor.hpp>

#include <functional>
#include <utility>

namespace leat {

/// Asks actors on behalf of code that is not an actor. It has neither mailbox nor thread: answers
/// are handled in the threads of the actors that give them. The system does not wait for its end.
class outside_caller final : public caf::monitorable_actor {
public:
  /// Called with each answer: what the actor returned, or a caf::error if it is gone. Must not
  /// throw.
  using handler = std::function<void(const caf::message&)>;

  outside_caller(caf::actor_config& config, handler answered)
      : monitorable_actor(config), answered_(std::move(answered)) {}

  using monitorable_actor::enqueue;
  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
    if (what->mid.is_response())
      answered_(what->move_content_to_message());
  }

private:
  const handler answered_;
};

inline caf::strong_actor_ptr make_outside_caller(caf::actor_system& system,
                                                 outside_caller::handler answered) {
  caf::actor_config config;
  return caf::make_actor<outside_caller, caf::strong_actor_ptr>(
      system.next_actor_id(), system.node(), &system, config, std::move(answered));
}

/// Sends a request; `caller` gets the answer.
template <class Actor, class... Arguments>
void ask(const caf::strong_actor_ptr& caller, const Actor& to, Arguments&&... arguments) {
  constexpr auto request = caf::make_message_id(1); // answers come in order: one number is enough
  to->eq_impl(request, caller, nullptr, std::forward<Arguments>(arguments)...);
}

} // namespace leat
