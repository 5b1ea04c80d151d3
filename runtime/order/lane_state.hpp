#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/order/iterators/iterator.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace leat {

struct lane_base;
using base_ptr = std::shared_ptr<const lane_base>;

/// Where a round of a lane continues: its newest base at or before an item, and that item. Without
/// a base: from the beginning of the lap. The iterator runs again from the base, without probing
/// what was consumed.
struct round_mark {
  base_ptr base;
  lap when;
  /// Items of the lap that were consumed; the end of the lap counts as one.
  std::uint64_t consumed = 0;
  /// For a last round where steps are counted (sample_graph::counts_steps): items that the lane
  /// gave in its epochs before the lap's.
  std::uint64_t before = 0;
};

/// A text that is made when it is first asked for, by whichever thread. If two threads make it, the
/// texts are equal and one of them stays. (std::call_once would make a system call for each text.)
class made_once : not_copied {
public:
  ~made_once() { delete text_.load(std::memory_order_relaxed); }

  template <class Make>
  const std::string& get(Make make) const {
    if (const auto* made = text_.load(std::memory_order_acquire))
      return *made;
    auto mine = std::make_unique<const std::string>(make());
    const std::string* theirs = nullptr;
    if (text_.compare_exchange_strong(theirs, mine.get(), std::memory_order_acq_rel))
      return *mine.release();
    return *theirs;
  }

private:
  mutable std::atomic<const std::string*> text_ = nullptr;
};

/// The state of one round in one lane at some item. Immutable; the bases of the rounds below it are
/// found through it.
struct lane_base {
  lap when;
  /// Items of the lap that were given before it.
  std::uint64_t given = 0;
  /// The state that the operators saved.
  item state;
  /// It was taken while an item was being made: some of what that item needs has been decided.
  bool is_within_item = false;
  /// The rounds directly below, where this round had consumed them up to.
  struct input {
    std::size_t edge = 0;
    round_mark mark;
  };
  std::vector<input> inputs = {};
  /// For a last round's base, its encoding as in snapshots: many snapshots have the same base, and
  /// its parts lie scattered in memory.
  made_once message = {};
};

/// The state of one lane after a batch.
struct lane_state {
  std::uint64_t lane = 0;
  round_mark mark;
  /// Which records that exist once were used for the items before the mark, those handed over.
  record_uses used = {};
};

/// The states of all lanes of a rank, in rising order.
using lane_states = std::vector<lane_state>;

} // namespace leat
