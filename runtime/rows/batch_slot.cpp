#include "runtime/rows/batch_slot.hpp"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <utility>

namespace leat {

namespace {

/// The phase as metrics count it.
slot_phase phase_of(slot_state x) noexcept {
  switch (x) {
  case slot_state::free:
    return slot_phase::free;
  case slot_state::ready:
    return slot_phase::ready;
  case slot_state::leased:
    return slot_phase::leased;
  case slot_state::reserved:
  case slot_state::filling:
    break;
  }
  return slot_phase::making;
}

} // namespace

batch_slot::batch_slot(std::shared_ptr<const batch_layout> layout, std::size_t rows,
                       const tensor_memory& tensors)
    : memory_(std::move(layout), rows, tensors),
      cursor_bits_(static_cast<unsigned>(std::bit_width(rows))) {
  try {
    holders_ = std::make_unique<row_holder[]>(rows);
    results_ = std::make_unique<row_result[]>(rows);
    summary_.valid.resize(rows);
  } catch (const std::bad_alloc&) {
    refuse_batch_size(memory_.layout(), rows);
  }
}

batch_plan failed_batch(error problem) noexcept {
  return {.what = batch_plan::kind::failed,
          .epoch = UINT64_MAX,
          .step = UINT64_MAX,
          .failure = std::move(problem)};
}

void batch_slot::enter(slot_state next) noexcept {
  life_.turn(phase_of(next), plan_.what == batch_plan::kind::batch, plan_.epoch, plan_.step);
  const auto last = state_.exchange(next, std::memory_order_acq_rel);
  if (may_follow(last, next))
    return;
  std::fprintf(stderr, "leat: a batch slot went from state %d to %d\n", static_cast<int>(last),
               static_cast<int>(next));
  std::abort();
}

void batch_slot::reserve() noexcept {
  enter(slot_state::reserved);
  remaining_.store(not_open, std::memory_order_relaxed);
}

void batch_slot::open(planned_batch& batch, bool is_claimable) noexcept {
  enter(slot_state::filling);
  std::swap(plan_, batch.plan);
  opened_as_ = plan_.what;
  run_ = batch.run;
  requests_.swap(batch.requests);
  num_rows_ = batch.rows;
  is_claimable_ = is_claimable;
  memory_.begin_rows();
  for (std::size_t i = 0; i < num_rows_; ++i) {
    results_[i].clear();
    auto& holder = holders_[i];
    holder.deaths = 0;
    holder.owner.store(0, std::memory_order_relaxed);
    holder.state.store(row_holder::phase::dealt, std::memory_order_relaxed);
  }
  ++ticket_;
  cursor_.store(std::uint64_t{ticket_} << 2 * cursor_bits_, std::memory_order_release);
  remaining_.store(static_cast<std::uint32_t>(num_rows_), std::memory_order_release);
}

batch_slot::claimed batch_slot::claim(std::uint32_t ticket, std::size_t limit, std::uint32_t worker,
                                      std::size_t at_most) noexcept {
  const auto mask = (std::uint64_t{1} << cursor_bits_) - 1;
  auto at = cursor_.load(std::memory_order_acquire);
  // The ticket is in the same word: a late worker finds it changed and touches nothing.
  while (is_open_for(ticket, at)) {
    const std::size_t row = at & mask;
    const std::size_t last = limit - (at >> cursor_bits_ & mask);
    if (row >= last)
      break;
    const auto end = std::min(last, row + at_most);
    if (cursor_.compare_exchange_weak(at, at + (end - row), std::memory_order_acq_rel)) {
      for (auto i = row; i < end; ++i)
        holders_[i].owner.store(worker + 1, std::memory_order_relaxed);
      return {row, end};
    }
  }
  return {};
}

batch_slot::claimed batch_slot::claim_last(std::uint32_t ticket, std::size_t limit,
                                           std::size_t at_most) noexcept {
  const auto mask = (std::uint64_t{1} << cursor_bits_) - 1;
  auto at = cursor_.load(std::memory_order_acquire);
  while (is_open_for(ticket, at)) {
    const std::size_t row = at & mask;
    const std::size_t last = limit - (at >> cursor_bits_ & mask);
    if (row >= last)
      break;
    const auto n = std::min(at_most, last - row);
    if (cursor_.compare_exchange_weak(at, at + (std::uint64_t{n} << cursor_bits_),
                                      std::memory_order_acq_rel)) {
      for (auto i = last - n; i < last; ++i)
        put_back(i);
      return {last - n, last};
    }
  }
  return {};
}

std::size_t batch_slot::num_unclaimed(std::uint32_t ticket, std::size_t limit) const noexcept {
  const auto mask = (std::uint64_t{1} << cursor_bits_) - 1;
  const auto at = cursor_.load(std::memory_order_acquire);
  return is_open_for(ticket, at) ? limit - (at & mask) - (at >> cursor_bits_ & mask) : 0;
}

bool batch_slot::take_lent(std::uint32_t ticket, std::size_t row) noexcept {
  if (!is_open_for(ticket, cursor_.load(std::memory_order_acquire)))
    return false;
  auto lent = row_holder::phase::lent;
  return holders_[row].state.compare_exchange_strong(lent, row_holder::phase::begun,
                                                     std::memory_order_acq_rel);
}

void batch_slot::close() {
  auto& [valid, num_valid, digest, given, bad, on_device] = summary_;
  num_valid = 0;
  digest = {};
  given.clear();
  bad.clear();
  on_device = 0;
  for (std::size_t i = 0; i < num_rows_; ++i) {
    const auto& row = results_[i];
    valid[i] = row.what == row_result::outcome::good ? 1 : 0;
    if (valid[i]) {
      ++num_valid;
      digest += row.digest;
      add(given, row.given);
      on_device |= row.on_device;
    }
    if (row.failure && !plan_.failure)
      plan_.failure = *row.failure;
    if (row.bad && !row.failure)
      bad.push_back(*row.bad);
  }
  std::fill(valid.begin() + static_cast<std::ptrdiff_t>(num_rows_), valid.end(), 0);
  if (plan_.failure)
    plan_.what = batch_plan::kind::failed;
  // Nobody reads the rows of a failed batch, and touching them may take memory and time.
  for (std::size_t i = 0; i < valid.size() && !plan_.failure; ++i)
    if (!valid[i])
      memory_.clear(i);
  enter(slot_state::ready);
}

} // namespace leat
