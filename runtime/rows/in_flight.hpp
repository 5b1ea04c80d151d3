#pragma once

#include "messages/chunk.hpp"
#include "runtime/rows/batch_slot.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace leat {

/// The batches in flight, in order, and what happens to the rows of a worker that died. The slots
/// say which rows are claimed, begun and done; only the batcher, which owns this in-flight ledger,
/// decides about a lost worker's rows, and only after that worker's down message.
class in_flight {
public:
  /// A row is dealt again once; the second death over it is an error.
  static constexpr std::uint32_t deaths_allowed = 1;

  /// Notes the next batch; its slot is reserved, but may not be open yet.
  void begin(std::shared_ptr<batch_slot> slot) { under_way_.push_back(std::move(slot)); }

  /// Notes items that workers probe for an iterator; they come back in any order.
  void begin_probe(std::shared_ptr<batch_slot> slot) { probes_.push_back(std::move(slot)); }

  /// Takes the probes that are complete.
  std::vector<std::shared_ptr<batch_slot>> take_probes();

  /// Takes the oldest batch if it is complete.
  std::optional<std::shared_ptr<batch_slot>> take_complete();

  /// Takes the oldest batch, complete or not: for when none can be finished any more.
  std::optional<std::shared_ptr<batch_slot>> take_oldest();

  /// What the heir of a dead worker must do: for every open batch and probe, the unfinished rows
  /// that the dead worker had; they belong to the heir from now on. A row that has killed too many
  /// workers is finished as failed instead. Call it only when no batch will be dealt to the dead
  /// worker any more.
  std::vector<chunk> lost(std::uint32_t worker, std::uint32_t heir);

  std::size_t size() const noexcept { return under_way_.size(); }

private:
  std::deque<std::shared_ptr<batch_slot>> under_way_;
  std::vector<std::shared_ptr<batch_slot>> probes_;
};

} // namespace leat
