#include "actors/actor_engine.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/patience.hpp"
#include "runtime/rows/inline_order.hpp"
#include "runtime/rows/stuck_report.hpp"
#include "runtime/sample/batch_layout.hpp"

#include <leat/notice.hpp>

#include <caf/send.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace leat {

namespace {

using std::chrono::steady_clock;

constexpr std::chrono::hours no_limit{24};
/// For functions that are asked to end with their loader.
constexpr std::chrono::milliseconds grace{3000};

/// At most, where workers share the probes: a quarter of what is in flight, so that lanes and
/// probes overlap, and no fewer than what workers are worth being woken for. Where samples are
/// large, lane_loans ends a probe sooner.
std::size_t rows_per_probe(const engine_parts& parts) {
  return std::max<std::size_t>(64, 2 * parts.rows);
}

/// What workers have made, to be held against what lending costs.
made_here made_by(const worker_board& workers) {
  made_here sum;
  for (const auto& x : workers.sums()) {
    sum.batches.rows += x.batch_rows;
    sum.batches.time += x.on_batches.count();
    sum.probes.rows += x.probe_rows;
    sum.probes.time += x.on_probes.count();
  }
  return sum;
}

} // namespace

actor_engine::actor_engine(actor_host& host, engine_parts parts, const loader_options& options)
    : system_(host.system()), plan_(parts.plan), crew_(parts.crew), metrics_(parts.metrics),
      stuck_after_(options.stuck_after), counts_waits_(parts.is_for_trainer),
      ahead_(*plan_->layout, parts.rows, options.prefetch),
      slots_(plan_->layout, parts.rows, *metrics_, parts.memory), lender_(parts.lender) {
  // The actors alone have the configuration, whose token shutdown() waits for.
  actors_ = spawn_pipeline(host.system(), config_for(host, parts, options),
                           [to = ready_](slot_ptr slot) { to->push(std::move(slot)); });
  if (!lender_)
    return;
  try {
    begin_lending();
  } catch (...) { // the destructor is not called, and actors refer to this
    shutdown();
    throw;
  }
}

/// What the lender's threads tell actors.
void actor_engine::begin_lending() {
  const mutex_lock lock{mutex_};
  lender_->begin({.completed =
                      [batcher = actors_.batcher, dispatcher = actors_.dispatcher](bool is_batch) {
                        const logger_release released;
                        if (is_batch)
                          caf::anon_send(batcher, complete_atom_v);
                        else
                          caf::anon_send(dispatcher, complete_atom_v);
                      },
                  .deal =
                      [dispatcher = actors_.dispatcher](chunk rows) {
                        const logger_release released;
                        caf::anon_send(dispatcher, std::move(rows));
                      },
                  .made_here = [crew = crew_] { return made_by(crew->board()); },
                  .failed = [to = ready_](error problem) { to->fail(std::move(problem)); }});
}

dispatcher_config actor_engine::config_for(actor_host& host, engine_parts& parts,
                                           const loader_options& options) {
  return {.order = std::move(parts.order),
          .policy = {plan_->shape.lanes, options.world_size, options.dispatch},
          .rows_a_probe = rows_per_probe(parts),
          .lanes = static_cast<std::size_t>((plan_->shape.lanes + options.world_size - 1)
                                            / options.world_size),
          .feeds = plan_->samples->feeds,
          .workers = options.workers,
          .make_worker =
              [this](std::size_t number, bool replaces) {
                return crew_->make(plan_, number, replaces, gate_token{lives_});
              },
          .threads = &host.threads(),
          .alive = lives_,
          .lender = lender_,
          .taken = lender_ ? lender_->taken() : nullptr,
          .metrics = metrics_.get(),
          .failed = [to = ready_](error problem) { to->fail(std::move(problem)); }};
}

void actor_engine::make_room(std::size_t leases) {
  slots_.hold(ahead_.batches(), leases, [this](slot_ptr slot) { send_free(std::move(slot)); });
}

slot_ptr actor_engine::next() {
  auto slot = next_slot();
  if (slot->plan().what == batch_plan::kind::batch)
    ahead_.see(slot->memory());
  return slot;
}

slot_ptr actor_engine::next_slot() {
  if (auto slot = ready_->try_pop())
    return std::move(*slot);
  const auto begin = steady_ns();
  for (;;) {
    if (*plan_->cancelled) // perhaps before there was an engine to interrupt
      throw_interrupted();
    // Workers may be idle while the batch is still on its way: then there is no one to name.
    auto slot = ready_->pop_until(std::min(stuck_at(), end_of_patience()));
    if (slot) {
      if (counts_waits_)
        metrics_->waited(begin, steady_ns(), (*slot)->plan().epoch, (*slot)->plan().step);
      return std::move(*slot);
    }
    check_patience();
    if (const auto problem = stuck())
      throw error(*problem);
  }
}

error actor_engine::stuck_error(const worker_record& record) const {
  const auto where = "on worker " + std::to_string(record.number);
  const auto call = record.calls.running();
  return call ? stuck_call(*call, where, stuck_after_)
              : stuck_row(*plan_, record, where, stuck_after_);
}

std::optional<error> actor_engine::stuck() const {
  const auto limit = std::chrono::nanoseconds{stuck_after_}.count();
  if (limit == 0)
    return {};
  const auto now = steady_ns();
  if (const auto record = crew_->board().busy_since_before(now - limit))
    return stuck_error(*record);
  return {};
}

template <class Call>
void actor_engine::telling(Call call) {
  try {
    call();
  } catch (...) {
    ready_->fail(error_in_flight(errc::io, {.stage = "loader"}));
  }
}

void actor_engine::recycle(slot_ptr slot) {
  telling([&] {
    if (slot->state() != slot_state::free) { // all but the one that failed in place of all others
      slot->release();
      if (slots_.take_surplus())
        return slot->count_out();
    }
    send_free(std::move(slot));
  });
}

void actor_engine::send_free(slot_ptr slot) {
  const logger_release released; // a worker may have to be replaced
  handlers_here here{&system_};
  {
    mutex_lock lock{mutex_};
    if (actors_.batcher)
      actors_.batcher->enqueue(caf::make_mailbox_element(nullptr, caf::make_message_id(),
                                                         caf::no_stages, free_atom_v,
                                                         std::move(slot)),
                               &here);
  }
  here.run();
}

void actor_engine::begin_epoch(std::uint64_t epoch) {
  telling([&] {
    mutex_lock lock{mutex_};
    caf::anon_send(actors_.dispatcher, epoch_atom_v, epoch);
  });
}

void actor_engine::rewind(std::uint64_t run) {
  telling([&] {
    // Taken before the dispatcher hears of it: slots that come later may belong to the new run
    // already.
    std::vector<slot_ptr> made_ahead;
    while (auto slot = ready_->try_pop())
      made_ahead.push_back(std::move(*slot));
    {
      mutex_lock lock{mutex_};
      caf::anon_send(actors_.dispatcher, rewind_atom_v, run);
    }
    // Their memory is for the new run, which begins at once.
    for (auto& slot : made_ahead)
      recycle(std::move(slot));
  });
}

void actor_engine::resize(std::size_t workers) {
  telling([&] {
    mutex_lock lock{mutex_};
    caf::anon_send(actors_.dispatcher, resize_atom_v, std::uint64_t{workers});
  });
}

/// When something can be said to hang: what runs longest is what does.
steady_clock::time_point actor_engine::stuck_at() const {
  if (stuck_after_.count() == 0)
    return steady_clock::now() + no_limit;
  return steady_clock::time_point{std::chrono::nanoseconds{crew_->board().oldest_start_ns()}}
         + stuck_after_;
}

/// False if it has not returned from a read in time.
bool actor_engine::end_lending() noexcept {
  while (!lender_->end(steady_clock::now() + grace))
    try {
      const auto since = lender_->reads_since();
      const auto limit = std::chrono::nanoseconds{stuck_after_}.count();
      const bool is_stuck = limit > 0 && since > 0 && steady_ns() - since > limit;
      notice(std::string{"loader: "}
             + (is_stuck ? "abandoned, with its thread, as it does not return: "
                         : "still waiting for this to end: ")
             + "the read of a record for a helper");
      if (is_stuck)
        return false;
    } catch (...) { // no memory for the text
    }
  return true;
}

bool actor_engine::shutdown() noexcept {
  // First, so that nobody writes into slots or calls actors any more.
  if (lender_ && !has_given_up_ && !end_lending())
    has_given_up_ = true;
  {
    mutex_lock lock{mutex_};
    if (!actors_.batcher)
      return !has_given_up_;
    send_exit(actors_);
  }
  // What was said to hang may still return.
  const auto end_of_wait = [&] { return std::max(steady_clock::now() + grace, stuck_at()); };
  while (!lives_->wait_until_none(end_of_wait()))
    try {
      if (const auto problem = stuck()) {
        notice(std::string{"loader: abandoned, with its thread, as it does not return: "}
               + problem->what());
        has_given_up_ = true;
        return false;
      }
      const auto record = crew_->board().busy_since_before(steady_ns());
      notice(std::string{"loader: still waiting for this to end: "}
             + (record ? stuck_error(*record).what() : "an actor that has not stopped"));
    } catch (...) { // no memory for the text
    }
  while (ready_->try_pop()) // slots of batches that will not be fetched
    ;
  return !has_given_up_;
}

} // namespace leat
