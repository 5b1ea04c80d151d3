#include "runtime/rows/in_flight.hpp"

#include "runtime/rows/rank_lane.hpp"
#include "runtime/rows/row_assignment.hpp"

#include <algorithm>
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

/// Rows that are lent: the dead worker may have been given some of them, and nobody knows which.
std::vector<std::uint32_t> lent_rows_of(batch_slot& slot) {
  std::vector<std::uint32_t> rows;
  for (std::size_t i = 0; i < slot.num_rows(); ++i)
    if (slot.holder(i).state.load(std::memory_order_acquire) == row_holder::phase::lent)
      rows.push_back(static_cast<std::uint32_t>(i));
  return rows;
}

} // namespace

void in_flight::begin(std::shared_ptr<batch_slot> slot) {
  std::erase_if(batches_, [&](const auto& x) { return x == slot || !x->has_rows_left(); });
  (slot->holds_batch() ? batches_ : asides_).push_back(std::move(slot));
}

std::optional<std::shared_ptr<batch_slot>> in_flight::take_aside() {
  const auto done = std::find_if(asides_.begin(), asides_.end(),
                                 [](const auto& x) { return !x->has_rows_left(); });
  if (done == asides_.end())
    return std::nullopt;
  auto slot = std::move(*done);
  asides_.erase(done);
  return slot;
}

std::vector<chunk> in_flight::lost(std::uint32_t worker, std::uint32_t heir,
                                   const std::shared_ptr<listener>& taken) {
  std::vector<chunk> chunks;
  auto pass_on = [&](const std::shared_ptr<batch_slot>& slot) {
    if (!slot->has_rows_left())
      return;
    auto rows = inherit(*slot, worker, heir);
    // If rows are claimed, the heir joins in: there may be no other worker left.
    if (rows.empty() && !(slot->is_claimable() && slot->has_rows_left()))
      return;
    auto& work = chunks.emplace_back(chunk_of(slot));
    work.rows = std::move(rows);
    work.claims = slot->is_claimable();
    if (auto lent = lent_rows_of(*slot); !lent.empty()) {
      auto& more = chunks.emplace_back(chunk_of(slot));
      more.rows = std::move(lent);
      more.are_lent = true;
      more.taken = taken;
    }
  };
  std::for_each(asides_.begin(), asides_.end(), pass_on);
  std::for_each(batches_.begin(), batches_.end(), pass_on);
  return chunks;
}

} // namespace leat
