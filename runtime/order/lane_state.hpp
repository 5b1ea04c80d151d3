#pragma once

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

/// Where a round of a lane goes on: its newest base at or before an item, and that item. No base:
/// the beginning of the lap. From the base on the iterator runs again, without looking at
/// what was consumed.
struct round_mark {
  base_ptr base;
  lap when;
  /// Items of the lap that were consumed; its end counts as one.
  std::uint64_t consumed = 0;
};

/// A text that is made when it is first asked for, by whichever thread; two may make it, of whose
/// equal texts one stays. (std::call_once would make a system call for each of them.)
class made_once {
public:
  made_once() = default;
  ~made_once() { delete text_.load(std::memory_order_relaxed); }
  made_once(const made_once&) = delete;
  made_once& operator=(const made_once&) = delete;

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

/// The state of one round in one lane at some item. Immutable; the rounds behind it are found
/// through it.
struct lane_base {
  lap when;
  /// Items of the lap given before.
  std::uint64_t given = 0;
  /// What the operators saved.
  item state;
  /// The rounds directly behind, at what this one had consumed of them.
  struct input {
    std::size_t edge = 0;
    round_mark mark;
  };
  std::vector<input> inputs = {};
  /// Of a last round's base, as it stands in snapshots: many have the same one, and its parts lie
  /// in many places.
  made_once message = {};
};

/// The state of one lane after a batch.
struct lane_state {
  std::uint64_t lane = 0;
  round_mark mark;
  /// Records that exist once, of the items before the mark: those that were handed over.
  record_uses used = {};
};

/// Of all lanes of a rank, in rising order.
using lane_states = std::vector<lane_state>;

} // namespace leat
