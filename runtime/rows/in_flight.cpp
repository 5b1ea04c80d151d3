#include "runtime/rows/in_flight.hpp"

#include "runtime/rows/rank_lane.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace leat {

namespace {

void give_up(batch_slot& slot, std::size_t row) {
  auto& x = slot.result(row);
  const auto& of = slot.request(row);
  const auto position = of.lane ? of.lane->position() : of.position;
  x.what = row_result::outcome::failed;
  x.failure =
      error(errc::worker_lost, {.stage = "worker",
                                .sample = "at position " + std::to_string(position),
                                .got = std::to_string(slot.holder(row).deaths)
                                       + " workers that died while they made it",
                                .needed = "at most " + std::to_string(in_flight::deaths_allowed)});
  slot.finish(row);
}

/// Gives the unfinished rows of an open batch that the worker had to its heir.
std::vector<std::uint32_t> inherit(batch_slot& slot, std::uint32_t worker, std::uint32_t heir) {
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < slot.num_rows(); ++i) {
    auto& x = slot.holder(i);
    const auto state = x.state.load(std::memory_order_acquire);
    if (x.owner.load(std::memory_order_relaxed) != worker + 1 || state == row_holder::phase::done)
      continue;
    if (state == row_holder::phase::begun && ++x.deaths > in_flight::deaths_allowed) {
      give_up(slot, i);
      continue;
    }
    slot.result(i).clear(); // what the dead worker had begun
    x.owner.store(heir + 1, std::memory_order_relaxed);
    x.state.store(row_holder::phase::dealt, std::memory_order_relaxed);
    rows.push_back(static_cast<std::uint32_t>(i));
  }
  return rows;
}

} // namespace

std::vector<std::shared_ptr<batch_slot>> in_flight::take_probes() {
  const auto done = std::stable_partition(probes_.begin(), probes_.end(),
                                          [](const auto& x) { return !x->complete(); });
  std::vector<std::shared_ptr<batch_slot>> result{std::make_move_iterator(done),
                                                  std::make_move_iterator(probes_.end())};
  probes_.erase(done, probes_.end());
  return result;
}

std::optional<std::shared_ptr<batch_slot>> in_flight::take_complete() {
  if (under_way_.empty() || !under_way_.front()->complete())
    return std::nullopt;
  return take_oldest();
}

std::optional<std::shared_ptr<batch_slot>> in_flight::take_oldest() {
  if (under_way_.empty())
    return std::nullopt;
  auto slot = std::move(under_way_.front());
  under_way_.pop_front();
  return slot;
}

std::vector<chunk> in_flight::lost(std::uint32_t worker, std::uint32_t heir) {
  std::vector<chunk> chunks;
  auto pass_on = [&](const std::shared_ptr<batch_slot>& slot) {
    if (!slot->is_open())
      return; // not dealt to any worker yet
    auto rows = inherit(*slot, worker, heir);
    // If rows are claimed, the heir joins in: there may be no other worker left.
    if (!rows.empty() || (slot->is_claimable() && !slot->complete()))
      chunks.push_back({slot, slot->ticket(), slot->num_rows(), std::move(rows),
                        slot->is_claimable(), slot->holds_turns()});
  };
  std::for_each(probes_.begin(), probes_.end(), pass_on);
  std::for_each(under_way_.begin(), under_way_.end(), pass_on);
  return chunks;
}

} // namespace leat
