#pragma once

#include "messages/chunk.hpp"
#include "runtime/rows/batch_slot.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

namespace leat {

/// What workers make at present, and what happens to the rows of a worker that died. The slots say
/// which rows are claimed, begun and done. A plain value of one thread, the dispatcher's, which
/// alone opens slots: one that has rows left stays what it is until their owners, all of which it
/// knows, have made them.
class in_flight {
public:
  /// A row is dealt again once; the second death over it is an error.
  static constexpr std::uint32_t deaths_allowed = 1;

  /// Notes a slot that was just opened. Batches are forgotten, some time after they are complete;
  /// probes and turns are kept until they are taken.
  void begin(std::shared_ptr<batch_slot> slot);

  /// Takes the oldest of the probes and turns that are complete, if any is.
  std::optional<std::shared_ptr<batch_slot>> take_aside();

  /// What the heir of a dead worker must do: for every slot, the unfinished rows that the dead
  /// worker had; they belong to the heir from now on. A row that has killed too many workers is
  /// finished as failed instead. Call it only when nothing will be dealt to the dead worker any
  /// more. `taken` hears of rows that were lent and that the heir takes; it may be null.
  std::vector<chunk> lost(std::uint32_t worker, std::uint32_t heir,
                          const std::shared_ptr<listener>& taken = nullptr);

  /// Batches, and probes and turns, that it holds.
  std::size_t size() const noexcept { return batches_.size() + asides_.size(); }

private:
  std::deque<std::shared_ptr<batch_slot>> batches_;
  std::deque<std::shared_ptr<batch_slot>> asides_;
};

} // namespace leat
