#include "runtime/rows/row_worker.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/listener.hpp"
#include "runtime/rows/rank_lane.hpp"

#include <algorithm>
#include <span>
#include <thread>
#include <utility>

namespace leat {

namespace {

/// Of so many groups of the smallest rows, one is measured.
constexpr std::size_t groups_per_measurement = 8;

/// Rows of a slot that are done. They are counted together, because all cores share the counter.
class done_rows : not_copied {
public:
  explicit done_rows(batch_slot& slot) : slot_(slot) {}
  ~done_rows() { count(); } // also if the worker dies

  void add(std::size_t row) noexcept {
    slot_.mark_done(row);
    ++rows_;
  }
  /// True if they were the batch's last.
  bool count() noexcept {
    const auto n = std::exchange(rows_, 0);
    return n > 0 && slot_.count_done(n);
  }

private:
  batch_slot& slot_;
  std::size_t rows_ = 0;
};

/// Whether the row, which another process has, is the worker's now.
bool take_lent(const chunk& from, std::size_t row, std::uint32_t worker) {
  if (!from.slot->take_lent(from.ticket, row))
    return false;
  from.slot->holder(row).owner.store(worker + 1, std::memory_order_relaxed);
  if (from.taken)
    from.taken->tell();
  return true;
}

} // namespace

std::size_t row_worker::group() const noexcept {
  return function->takes_several() ? group_size::largest : rows_.size();
}

bool row_worker::dies_over(const batch_slot& slot, std::size_t row) const noexcept {
  return drill.die_at && slot.request(row).position >= *drill.die_at;
}

bool row_worker::begin_row(batch_slot& slot, std::size_t row) {
  slot.holder(row).state.store(row_holder::phase::begun, std::memory_order_relaxed);
  if (dies_over(slot, row))
    return false;
  if (drill.slow_by.count() > 0)
    std::this_thread::sleep_for(drill.slow_by);
  return true;
}

template <class RowAt>
bool row_worker::run_together(batch_slot& slot, std::size_t n, RowAt row_at) {
  for (std::size_t i = 0; i < n; ++i)
    if (dies_over(slot, row_at(i))) // of the others none is begun
      return begin_row(slot, row_at(i));
  places_together.resize(std::max(n, places_together.size()));
  together.clear();
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = row_at(i);
    (void)begin_row(slot, row);
    together.push_back(
        {&slot.request(row), places_together[i].at(slot.memory(), row), &slot.result(row)});
    together.back().target.late = decoder_.get();
  }
  function->run_together(together);
  return true;
}

template <class RowAt>
row_worker::verdict row_worker::run_group(batch_slot& slot, std::size_t n, RowAt row_at) {
  // A group begins where the one before it ended: reading the clock costs as much as a small row.
  auto begin = record->since_ns.load(std::memory_order_relaxed);
  if (begin == 0)
    record->since_ns.store(begin = steady_ns(), std::memory_order_relaxed);
  // Among groups of the smallest rows only one in a few is measured.
  const bool is_measured = n < group_size::largest || ++unmeasured_ == groups_per_measurement;
  const auto weight = n < group_size::largest ? n : n * groups_per_measurement;
  if (is_measured)
    unmeasured_ = 0;
  done_rows done{slot};
  const bool is_together = n > 1 && function->takes_several();
  if (is_together) {
    if (plan->cancelled->load(std::memory_order_relaxed))
      return verdict::cancelled;
    record->clock.begin(begin);
    if (!run_together(slot, n, row_at))
      return die();
    record->clock.end(steady_ns(), 1, slot.plan().epoch, slot.request(row_at(0)).position);
    for (std::size_t i = 0; i < n; ++i)
      if (!waits(slot, row_at(i), together[i].target))
        done.add(row_at(i));
    add_alone(record->rows_done, std::uint64_t{n});
  }
  for (std::size_t i = 0; i < n && !is_together; ++i) {
    if (plan->cancelled->load(std::memory_order_relaxed))
      return verdict::cancelled;
    const auto row = row_at(i);
    const auto& x = slot.request(row);
    if (!begin_row(slot, row))
      return die();
    if (i == 0 && is_measured)
      record->clock.begin(begin);
    if (i + 1 < n)
      function->expect(slot.request(row_at(i + 1)));
    auto target = places.at(slot.memory(), row);
    target.late = decoder_.get();
    function->run(x, target, slot.result(row));
    if (i == 0 && is_measured && n > 1)
      record->clock.end(steady_ns(), weight, slot.plan().epoch, x.position);
    if (!waits(slot, row, target))
      done.add(row);
    add_alone(record->rows_done, std::uint64_t{1});
  }
  const auto end = steady_ns();
  if (is_measured && n == 1)
    record->clock.end(end, 1, slot.plan().epoch, slot.request(row_at(0)).position);
  add_alone(record->busy_ns, end - begin);
  const bool is_batch = slot.holds_batch();
  add_alone(is_batch ? record->batch_rows : record->probe_rows, std::uint64_t{n});
  add_alone(is_batch ? record->batch_ns : record->probe_ns, end - begin);
  record->since_ns.store(end, std::memory_order_relaxed);
  if (record->clock.is_traced()) {
    if (shown_.rows == 0)
      shown_.begin = begin;
    shown_ = {shown_.begin, end, slot.plan().epoch, slot.plan().step, shown_.rows + n};
  }
  rows_.took(end - begin);
  return done.count() ? verdict::complete : verdict::going_on;
}

bool row_worker::run_lane(const row_request& turn, row_holder& holder) {
  auto& lane = *turn.lane;
  const auto is_cancelled = [&] { return plan->cancelled->load(std::memory_order_relaxed); };
  const auto run = [&] {
    const auto begin = steady_ns();
    (void)lane.run(rank_lane::items_in_one_go, record->calls);
    const auto end = steady_ns();
    add_alone(record->iterating_ns, end - begin);
    record->since_ns.store(end, std::memory_order_relaxed);
    return end;
  };
  auto since = run();
  bool any = false;
  std::size_t in_group = 0;
  for (auto left = lane.num_requests(); turn.probes && left > 0 && !is_cancelled(); --left) {
    const auto* x = lane.begin_probe();
    if (!x)
      break;
    if (drill.die_at && x->position >= *drill.die_at)
      return false;
    seen_.clear();
    if (in_group == 0) // it stands for its group
      record->clock.begin(since);
    function->run(*x, {}, seen_);
    if (in_group == 0)
      record->clock.end(steady_ns(), std::min(probes_.size(), left), x->when.epoch, x->position);
    lane.end_probe(seen_);
    holder.deaths = 0; // the item that a worker died over is done
    any = true;
    if (++in_group >= probes_.size()) {
      in_group = 0;
      const auto now = steady_ns();
      probes_.took(now - std::exchange(since, now));
      record->since_ns.store(now, std::memory_order_relaxed);
    }
  }
  if (any)
    run();
  return true;
}

template <class RowAt>
row_worker::verdict row_worker::run_turns(batch_slot& slot, std::size_t n, RowAt row_at) {
  done_rows done{slot};
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = row_at(i);
    const auto begin = steady_ns();
    record->since_ns.store(begin, std::memory_order_relaxed);
    slot.holder(row).state.store(row_holder::phase::begun, std::memory_order_relaxed);
    try {
      if (!run_lane(slot.request(row), slot.holder(row)))
        return verdict::dead;
    } catch (...) {
      slot.result(row).failure = error_in_flight(errc::io, {.stage = "iterators"});
    }
    if (plan->cancelled->load(std::memory_order_relaxed)) // else it would be lent again and again
      return verdict::cancelled;
    const auto end = steady_ns();
    add_alone(record->busy_ns, end - begin);
    record->since_ns.store(end, std::memory_order_relaxed);
    record->clock.show_turn(begin, end, slot.request(row).position);
    done.add(row);
  }
  return done.count() ? verdict::complete : verdict::going_on;
}

void row_worker::rest() {
  record->since_ns.store(0, std::memory_order_relaxed);
  if (shown_.rows > 0)
    record->clock.show_rows(shown_.begin, shown_.end, shown_.epoch, shown_.step, shown_.rows);
  shown_.rows = 0;
}

template <class RowAt>
row_worker::verdict row_worker::run_rows(batch_slot& slot, std::size_t n, RowAt row_at) {
  if (slot.holds_turns())
    return run_turns(slot, n, row_at);
  add_alone(record->rows_dealt, std::uint64_t{n});
  make_room();
  return run_group(slot, n, row_at);
}

row_worker::verdict row_worker::run(batch_slot& slot, std::size_t first, std::size_t end) {
  return run_rows(slot, end - first, [&](std::size_t i) { return first + i; });
}

row_worker::verdict row_worker::run(batch_slot& slot, std::span<const std::uint32_t> rows) {
  return run_rows(slot, rows.size(), [&](std::size_t i) { return rows[i]; });
}

row_worker::verdict row_worker::run(const chunk& work) {
  if (decoder_)
    decoder_->keep(work.slot);
  auto result = verdict::going_on;
  const auto most = [&] { return work.turns ? 1 : group(); };
  for (std::span left{work.rows}; result == verdict::going_on && !left.empty();) {
    // One by one: another worker, or the answer of whoever has it, may be faster with the next one.
    const auto n = work.are_lent ? 1 : std::min(most(), left.size());
    if (!work.are_lent || take_lent(work, left.front(), record->id))
      result = run(*work.slot, left.first(n));
    left = left.subspan(n);
  }
  while (result == verdict::going_on && work.claims) {
    const auto rows = work.slot->claim(work.ticket, work.limit, record->id, most());
    if (!rows)
      break;
    result = run(*work.slot, rows.first, rows.end);
  }
  rest();
  if (decoder_)
    decoder_->keep(nullptr);
  return result;
}

// -- rows that a device decodes

void row_worker::decode_on(std::shared_ptr<device_decoding> device) {
  if (device)
    decoder_ = std::make_unique<device_decoder>(std::move(device), function->takes_several());
}

row_worker::verdict row_worker::die() {
  decoder_ = nullptr; // waits for the device: others make its rows now
  return verdict::dead;
}

bool row_worker::waits(batch_slot& slot, std::size_t row, const row_target& target) {
  if (!decoder_ || !decoder_->end_row(target, slot, row))
    return false;
  // Should this worker die, it did not die over this row.
  slot.holder(row).state.store(row_holder::phase::dealt, std::memory_order_relaxed);
  return true;
}

void row_worker::make_room() {
  if (!decoder_)
    return;
  while (decoder_->is_full() || decoder_->is_oldest_done())
    finish_group();
}

void row_worker::settle() {
  if (!decoder_)
    return;
  decoder_->flush();
  while (decoder_->is_busy())
    finish_group();
  rest();
}

void row_worker::finish_group() {
  for (const auto& x : decoder_->finish_oldest()) {
    auto& slot = *x.slot;
    auto& result = slot.result(x.number);
    if (x.failure) {
      result.what = row_result::outcome::failed;
      result.failure = *x.failure;
    } else if (x.is_bad) { // the processor's verdict counts, and its pixels
      record->since_ns.store(steady_ns(), std::memory_order_relaxed);
      slot.holder(x.number).state.store(row_holder::phase::begun, std::memory_order_relaxed);
      result.clear();
      function->run(slot.request(x.number), places.again(slot.memory(), x.number), result);
    } else {
      result.on_device = x.fields;
      if (plan->hash_pixels)
        function->hash(slot.request(x.number), slot.memory(), x.number, result);
    }
    has_completed_ = slot.finish(x.number) || has_completed_;
  }
}

} // namespace leat
