#include "actors/worker.hpp"

#include "actors/caf/keep_until_end.hpp"

#include <caf/sec.hpp>

#include <algorithm>
#include <thread>
#include <utility>

namespace leat {

namespace {

/// A longer group would make its other rows wait too long behind a row that turns out to be slow.
constexpr std::int64_t short_group_ns = 25'000;
constexpr std::int64_t long_group_ns = 100'000;
constexpr std::size_t largest_group = 64;
constexpr std::int64_t longest_turn_ns = 50'000;
constexpr std::size_t groups_a_look = 8;

/// Rows of a slot that are done. They are counted together, because all cores share the counter.
class done_rows {
public:
  explicit done_rows(batch_slot& slot) : slot_(slot) {}
  ~done_rows() { count(); } // also if the worker dies
  done_rows(const done_rows&) = delete;
  done_rows& operator=(const done_rows&) = delete;

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

} // namespace

std::size_t worker_state::group() const noexcept {
  return function->takes_several() ? largest_group : group_;
}

bool worker_state::dies_over(const batch_slot& slot, std::size_t row) const noexcept {
  return drill.die_at && slot.request(row).position >= *drill.die_at;
}

bool worker_state::begin_row(batch_slot& slot, std::size_t row) {
  slot.holder(row).state.store(row_holder::phase::begun, std::memory_order_relaxed);
  if (dies_over(slot, row))
    return false;
  if (drill.slow_by.count() > 0)
    std::this_thread::sleep_for(drill.slow_by);
  return true;
}

template <class RowAt>
bool worker_state::run_together(batch_slot& slot, std::size_t n, RowAt row_at) {
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
  }
  function->run_together(together);
  return true;
}

template <class RowAt>
worker_state::verdict worker_state::run_group(batch_slot& slot, std::size_t n, RowAt row_at) {
  // A group begins where the one before it ended: reading the clock costs as much as a small row.
  auto begin = record->since_ns.load(std::memory_order_relaxed);
  if (begin == 0)
    record->since_ns.store(begin = steady_ns(), std::memory_order_relaxed);
  // Among groups of the smallest rows only one in a few is measured.
  const bool is_measured = n < largest_group || ++unmeasured_ == groups_a_look;
  const auto weight = n < largest_group ? n : n * groups_a_look;
  if (is_measured)
    unmeasured_ = 0;
  done_rows done{slot};
  const bool is_together = n > 1 && function->takes_several();
  if (is_together) {
    if (plan->cancelled->load(std::memory_order_relaxed))
      return verdict::cancelled;
    record->clock.begin(begin);
    if (!run_together(slot, n, row_at))
      return verdict::dead;
    record->clock.end(steady_ns(), 1, slot.plan().epoch, slot.request(row_at(0)).position);
    for (std::size_t i = 0; i < n; ++i)
      done.add(row_at(i));
    add_alone(record->rows_done, std::uint64_t{n});
  }
  for (std::size_t i = 0; i < n && !is_together; ++i) {
    if (plan->cancelled->load(std::memory_order_relaxed))
      return verdict::cancelled;
    const auto row = row_at(i);
    const auto& x = slot.request(row);
    if (!begin_row(slot, row))
      return verdict::dead;
    if (i == 0 && is_measured)
      record->clock.begin(begin);
    if (i + 1 < n)
      function->expect(slot.request(row_at(i + 1)));
    function->run(x, places.at(slot.memory(), row), slot.result(row));
    if (i == 0 && is_measured && n > 1)
      record->clock.end(steady_ns(), weight, slot.plan().epoch, x.position);
    done.add(row);
    add_alone(record->rows_done, std::uint64_t{1});
  }
  const auto end = steady_ns();
  if (is_measured && n == 1)
    record->clock.end(end, 1, slot.plan().epoch, slot.request(row_at(0)).position);
  add_alone(record->busy_ns, end - begin);
  record->since_ns.store(end, std::memory_order_relaxed);
  if (record->clock.is_traced()) {
    if (shown_.rows == 0)
      shown_.begin = begin;
    shown_ = {shown_.begin, end, slot.plan().epoch, slot.plan().step, shown_.rows + n};
  }
  if (end - begin < short_group_ns)
    group_ = std::min(2 * group_, largest_group);
  else if (end - begin > long_group_ns)
    group_ = 1;
  const auto result = done.count() ? verdict::batch_complete : verdict::going_on;
  let_others_run(end);
  return result;
}

/// All workers wait for the dispatcher, which runs the iterators. With no core to spare it would
/// wait for a worker's whole time slice: milliseconds. An order without iterators takes no time.
void worker_state::let_others_run(std::int64_t now) noexcept {
  if (plan->shape.is_indexed || now - turn_began_ns_ < longest_turn_ns)
    return;
  std::this_thread::yield();
  turn_began_ns_ = steady_ns();
  record->since_ns.store(turn_began_ns_, std::memory_order_relaxed);
}

void worker_state::rest() {
  record->since_ns.store(0, std::memory_order_relaxed);
  if (shown_.rows > 0)
    record->clock.show_rows(shown_.begin, shown_.end, shown_.epoch, shown_.step, shown_.rows);
  shown_.rows = 0;
}

worker_state::verdict worker_state::run(batch_slot& slot, std::size_t first, std::size_t end) {
  add_alone(record->rows_dealt, std::uint64_t{end - first});
  return run_group(slot, end - first, [&](std::size_t i) { return first + i; });
}

worker_state::verdict worker_state::run(batch_slot& slot, std::span<const std::uint32_t> rows) {
  add_alone(record->rows_dealt, std::uint64_t{rows.size()});
  return run_group(slot, rows.size(), [&](std::size_t i) { return rows[i]; });
}

worker_actor::behavior_type worker(worker_actor::stateful_pointer<worker_state> self,
                                   const worker_config& config, const batcher_actor& batcher) {
  auto& state = self->state;
  state.plan = config.plan;
  state.record = config.record;
  state.function.emplace(config.plan, config.record);
  state.drill = config.drill;
  state.batcher = batcher;
  keep_until_end(self, config.alive);
  // False if this worker must stop.
  auto is_to_go_on = [self](worker_state::verdict result, const chunk& work) {
    switch (result) {
    case worker_state::verdict::dead:
      self->quit(caf::make_error(caf::sec::runtime_error, std::string{"died on purpose"}));
      return false;
    case worker_state::verdict::cancelled:
      return false;
    case worker_state::verdict::batch_complete:
      self->send(self->state.batcher, complete_atom_v, work.slot);
      return true;
    case worker_state::verdict::going_on:
      break;
    }
    return true;
  };
  return {
      [self, is_to_go_on](chunk& message) {
        // A message outlives the actor that ends while it handles it.
        const chunk work = std::move(message);
        auto& x = self->state;
        bool alive = true;
        for (std::span<const std::uint32_t> left = work.rows; alive && !left.empty();) {
          const auto n = std::min(x.group(), left.size());
          alive = is_to_go_on(x.run(*work.slot, left.first(n)), work);
          left = left.subspan(n);
        }
        while (alive && work.claims) {
          const auto rows = work.slot->claim(work.ticket, work.limit, x.record->id, x.group());
          if (!rows)
            break;
          alive = is_to_go_on(x.run(*work.slot, rows.first, rows.end), work);
        }
        x.rest();
      },
      [self](retire_atom) { self->quit(); },
  };
}

} // namespace leat
