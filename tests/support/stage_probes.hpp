#pragma once

#include "messages/interfaces.hpp"
#include "tests/support/standard.hpp"

namespace leat {

/// What a stage told the dispatcher and the batcher.
struct told {
  /// Slots that the dispatcher is to deal.
  std::vector<slot_ptr> dealt;
  /// Messages of complete slots.
  std::size_t to_dispatcher = 0;
  std::size_t to_batcher = 0;
  std::vector<error> failures;
};

/// Takes the dispatcher's place.
inline dispatcher_actor::behavior_type dispatcher_probe(dispatcher_actor::pointer,
                                                        std::shared_ptr<told> seen) {
  return {
      [](start_atom, const batcher_actor&) {},
      [seen](deal_atom, const slot_ptr& slot) { seen->dealt.push_back(slot); },
      [seen](complete_atom) { ++seen->to_dispatcher; },
      [](const chunk&) {},
      [](run_atom) {},
      [](epoch_atom, std::uint64_t) {},
      [](rewind_atom, std::uint64_t) {},
      [](resize_atom, std::uint64_t) {},
  };
}

/// Takes the batcher's place.
inline batcher_actor::behavior_type batcher_probe(batcher_actor::pointer,
                                                  std::shared_ptr<told> seen) {
  return {
      [](free_atom, const slot_ptr&) {},
      [seen](complete_atom) { ++seen->to_batcher; },
      [seen](fail_atom, const error_ptr& problem) { seen->failures.push_back(*problem); },
  };
}

} // namespace leat
