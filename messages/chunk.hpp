#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace leat {

class batch_slot;
class listener;

/// Rows of one slot for one worker. Sent between actors of one process only: it borrows the slot.
struct chunk {
  std::shared_ptr<batch_slot> slot;
  /// Which opening of the slot the chunk belongs to, and the number of its rows.
  std::uint32_t ticket = 0;
  std::size_t limit = 0;
  /// Rows dealt by name, run first.
  std::vector<std::uint32_t> rows = {};
  /// After those rows, the worker claims rows until none is left.
  bool claims = false;
  /// The rows are a batch's; else a probe's, or turns of lanes. Who is late for a slot must not ask
  /// the slot.
  bool is_batch = true;
  /// The rows are turns of lanes, which are taken one by one.
  bool turns = false;
  /// Other processes have the rows dealt by name, and are late with them: several workers get the
  /// same ones, and each makes those that nobody else has taken.
  bool are_lent = false;
  /// With such rows: hears of each that a worker takes. May be null.
  std::shared_ptr<listener> taken = {};
};

} // namespace leat
