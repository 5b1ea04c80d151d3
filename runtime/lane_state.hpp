#pragma once

#include "runtime/program.hpp"

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
/// the beginning of the generation. From the base on the program runs again, without looking at
/// what was consumed.
struct round_mark {
  base_ptr base;
  generation when;
  /// Items of the generation that were consumed; its end counts as one.
  std::uint64_t consumed = 0;
};

/// A number that any thread may work out, with the same result; 0 until then.
class worked_out_once {
public:
  template <class WorkOut>
  std::uint64_t get(WorkOut work_out) const {
    auto x = value_.load(std::memory_order_relaxed);
    if (x == 0) {
      x = work_out();
      value_.store(x, std::memory_order_relaxed);
    }
    return x;
  }

private:
  mutable std::atomic<std::uint64_t> value_ = 0;
};

/// The state of one round in one lane at some item. Immutable; the rounds behind it are found
/// through it.
struct lane_base {
  generation when;
  /// Items of the generation given before.
  std::uint64_t given = 0;
  /// What the operators saved.
  item state;
  /// The rounds directly behind, at what this one had consumed of them.
  struct input {
    std::size_t edge = 0;
    round_mark mark;
  };
  std::vector<input> inputs = {};
  /// Bytes that it takes in a snapshot, plus one: many have the same base.
  worked_out_once message_size = {};
};

/// The state of one lane behind a batch.
struct lane_state {
  std::uint64_t lane = 0;
  round_mark mark;
};

/// Of all lanes of a rank, in rising order.
using lane_states = std::vector<lane_state>;

} // namespace leat
