#include "runtime/row_function.hpp"

#include "runtime/digest.hpp"
#include "runtime/exception_text.hpp"
#include "runtime/xxh3.hpp"

#include <utility>

namespace leat {

row_function::row_function(std::shared_ptr<const row_plan> plan,
                           std::shared_ptr<worker_record> record)
    : plan_(std::move(plan)), record_(std::move(record)), dense_(plan_->layout->fields().size()),
      ragged_(plan_->layout->fields().size()) {}

void row_function::run(batch_slot& slot, std::size_t row) {
  auto& x = slot.rows[row];
  record_->record.store(x.record, std::memory_order_relaxed);
  record_->stage.store(0, std::memory_order_relaxed);
  try {
    run_or_treat(slot, row);
  } catch (const error& problem) {
    x.result = slot_row::outcome::failed;
    x.failure = problem;
  } catch (...) { // from the source's own append_id
    x.result = slot_row::outcome::failed;
    x.failure = error(errc::io, {.stage = plan_->data->name(), .got = exception_text()});
  }
  record_->bytes_read.fetch_add(sample_access::take_bytes_read(sample_), std::memory_order_relaxed);
}

void row_function::run_or_treat(batch_slot& slot, std::size_t row) {
  try {
    if (!functions_)
      functions_ = make_functions(*plan_);
    produce(slot, row, slot.rows[row].record);
    seal(slot, row);
  } catch (const bad_sample& problem) {
    treat_bad(slot, row, problem);
  }
}

void row_function::produce(batch_slot& slot, std::size_t row, std::uint64_t record) {
  auto target = slot.target(row, dense_, ragged_);
  sample_access::reset(sample_, plan_->data.get(), record, &target);
  read(record);
  const auto position = slot.rows[row].position;
  // The fault is the sample's, so that a substitute can take its row.
  if (plan_->throw_at == position && record == slot.rows[row].record)
    throw bad_sample(cause::function_error, "a fault on purpose");
  const auto birth =
      functions_->empty() ? 0 : birth_of(plan_->order->source, slot.epoch, 0, record);
  for (std::size_t i = 0; i < functions_->size(); ++i) {
    record_->stage.store(i + 1, std::memory_order_relaxed);
    context c{rng{plan_->streams[i], birth}, slot.epoch, position, plan_->order->lanes,
              plan_->cancelled.get()};
    try {
      (*functions_)[i](sample_, c);
    } catch (const bad_sample&) {
      throw;
    } catch (...) {
      throw bad_sample(cause::function_error, exception_text());
    }
  }
  sample_access::deliver(sample_);
  slot.rows[row].delivered = record;
}

void row_function::read(std::uint64_t record) {
  try {
    plan_->data->read(record, sample_);
  } catch (const bad_sample&) {
    throw;
  } catch (const error&) {
    throw;
  } catch (...) {
    throw bad_sample(cause::function_error, exception_text());
  }
}

void row_function::seal(batch_slot& slot, std::size_t row) {
  auto& x = slot.rows[row];
  id_.clear();
  plan_->data->append_id(x.delivered, id_);
  x.digest = row_digest(slot.epoch, x.position, id_);
  if (plan_->hash_pixels)
    x.pixels = hash_of_pixels(x);
}

void row_function::treat_bad(batch_slot& slot, std::size_t row, const bad_sample& problem) {
  auto& x = slot.rows[row];
  id_.clear();
  plan_->data->append_id(x.record, id_);
  x.bad = bad_row{x.position, id_, problem.why(), problem.what(), {}};
  // Now: substitutes may fail in other stages.
  const auto stage = stage_name();
  auto fail = [&](const std::string& got) {
    x.result = slot_row::outcome::failed;
    x.failure = error(errc::bad_sample, {.stage = stage, .sample = x.bad->id, .got = got});
  };
  const auto what = std::string{to_string(problem.why())} + ": " + problem.what();
  switch (plan_->bad_samples) {
  case bad_sample_policy::fail:
    return fail(what);
  case bad_sample_policy::mask:
    x.result = slot_row::outcome::masked;
    return;
  case bad_sample_policy::substitute:
    if (!substitute(slot, row))
      fail(what + "; no good substitute in its lane");
  }
}

bool row_function::substitute(batch_slot& slot, std::size_t row) {
  constexpr int tries = 64;
  auto& x = slot.rows[row];
  const auto lanes = plan_->order->lanes;
  const auto lane = x.position % lanes;
  const auto items = slot.order->lane_items(lane);
  rng draw{map_stream(plan_->order->shuffle.seed, "substitute", 0),
           birth_of(plan_->order->source, slot.epoch, 0, x.position)};
  for (int i = 0; i < tries; ++i) {
    const auto other = slot.order->record(lane + draw.below(items) * lanes);
    try {
      produce(slot, row, other);
      seal(slot, row);
      x.bad->substitute = id_;
      return true;
    } catch (const bad_sample&) {
      continue; // the next draw
    }
  }
  return false;
}

hash128 row_function::hash_of_pixels(const slot_row& row) const {
  hash_stream hash;
  hash.add(row.position);
  const auto& fields = plan_->layout->fields();
  for (std::size_t i = 0; i < fields.size(); ++i)
    hash.add_raw(fields[i].ragged ? std::span<const std::byte>{*ragged_[i]}
                                  : std::span<const std::byte>{dense_[i], fields[i].row_bytes()});
  return hash.digest128();
}

std::string row_function::stage_name() const {
  const auto stage = record_->stage.load(std::memory_order_relaxed);
  return stage == 0 ? plan_->data->name() : plan_->maps[stage - 1].name;
}

} // namespace leat
