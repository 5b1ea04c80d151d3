#pragma once

#include "runtime/base/threads/gate.hpp"

#include <caf/error.hpp>

#include <utility>

namespace leat {

/// Holds a token that others wait for until an actor has ended.
class token_keeper {
public:
  void keep(gate_token x) noexcept { token_ = std::move(x); }

protected:
  ~token_keeper() = default;
  void give_back() noexcept { token_ = {}; }

private:
  gate_token token_;
};

/// Gives the token back when the actor has ended, and whoever waits for it finds nothing left of
/// what the actor held. Not a member of its state: CAF destroys that first, and then the mailbox
/// with its messages, in which there may be slots. And not one of the functions that CAF calls at
/// an actor's end, where there is a keeper: after those CAF asks the system for its clock, and
/// whoever waited may have destroyed that.
template <class Actor>
void keep_until_end(Actor* self, gate_token alive) {
  if (auto* const keeper = dynamic_cast<token_keeper*>(self))
    keeper->keep(std::move(alive));
  else // in tests, where the system lives on
    self->attach_functor([held = std::move(alive)](const caf::error&) mutable { held = {}; });
}

} // namespace leat
