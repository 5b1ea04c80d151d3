#include "runtime/rows/row_function.hpp"

#include "runtime/base/exception_text.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/order/iterators/edge.hpp"
#include "runtime/order/sample_key.hpp"
#include "runtime/rows/digest.hpp"
#include "runtime/rows/row_id.hpp"

#include <utility>

namespace leat {

row_function::row_function(std::shared_ptr<const row_plan> plan,
                           std::shared_ptr<worker_record> record)
    : plan_(std::move(plan)), record_(std::move(record)), dense_(plan_->layout->fields().size()),
      ragged_(plan_->layout->fields().size()) {}

void row_function::run(batch_slot& slot, std::size_t row) {
  auto& x = slot.rows[row];
  record_->epoch.store(slot.epoch, std::memory_order_relaxed);
  record_->item.store(x.position, std::memory_order_relaxed);
  record_->stage.store(0, std::memory_order_relaxed);
  try {
    if (!maker_)
      maker_.emplace(maker_of(*plan_, record_));
    slot.what == batch_slot::kind::probe ? look(slot, row) : run_or_treat(slot, row);
  } catch (...) {
    x.result = slot_row::outcome::failed;
    x.failure = with_sample(error_in_flight(errc::io, {.stage = stage_name()}), slot, row);
  }
  const auto beside = maker_ ? maker_->take_bytes_read() : 0;
  record_->bytes_read.fetch_add(sample_access::take_bytes_read(sample_) + beside,
                                std::memory_order_relaxed);
}

/// What the machine lacked says over which sample, where that can still be told.
error row_function::with_sample(const error& problem, const batch_slot& slot, std::size_t row) {
  auto details = problem.details();
  if (problem.code() != errc::no_resources || !details.sample.empty() || !maker_
      || slot.what == batch_slot::kind::probe)
    return problem;
  try {
    append_id(slot, row, *plan_->samples, plan_->shape.lanes, maker_->orders(), details.sample);
  } catch (...) {
    return problem;
  }
  return error(problem.code(), std::move(details));
}

void row_function::run_or_treat(batch_slot& slot, std::size_t row) {
  try {
    produce(slot, row, own_item(slot, row));
    seal(slot, row);
  } catch (const bad_sample& problem) {
    treat_bad(slot, row, problem);
  }
}

epoch_item row_function::own_item(const batch_slot& slot, std::size_t row) const {
  return plan_->shape.is_closed ? plan_->shape.item_at(slot.epoch, slot.rows[row].position)
                                : epoch_item{};
}

item_place row_function::place_of(const batch_slot& slot, std::size_t row) const {
  const auto lanes = plan_->shape.lanes;
  return {slot.rows[row].position % lanes, lanes, slot.items[row].when};
}

void row_function::look(batch_slot& slot, std::size_t row) {
  auto& seen = slot.items[row].seen;
  seen.clear(); // a worker may have died over it
  try {
    look_at(slot, row, seen);
  } catch (const bad_sample& problem) {
    seen.clear();
    if (plan_->bad_samples == bad_sample_policy::mask) {
      seen.found.bad = true;
      return;
    }
    id_.clear();
    append_id(slot, row, *plan_->samples, plan_->shape.lanes, maker_->orders(), id_);
    auto& state = slot.rows[row];
    state.result = slot_row::outcome::failed;
    state.failure = error(errc::bad_sample,
                          {.stage = stage_name(),
                           .sample = id_,
                           .got = std::string{to_string(problem.why())} + ": " + problem.what()});
  }
}

void row_function::look_at(const batch_slot& slot, std::size_t row, sighting& seen) {
  const auto& x = slot.items[row];
  const auto number = x.probe.edge;
  const auto& edge = plan_->samples->edges[number];
  const auto make = [&](sample& into) {
    sample_access::reset(into, nullptr);
    return maker_->make(*edge.input, x.what, place_of(slot, row), slot.rows[row].position, into);
  };
  if (!edge.keeps_samples) {
    make(sample_);
    seen.found = maker_->look(number, sample_);
    return;
  }
  auto kept = std::make_shared<made_sample>();
  kept->birth = make(kept->content);
  seen.found = maker_->look(number, kept->content);
  // Its bytes may lie in what this worker uses again for the next.
  sample_access::own(kept->content);
  record_->bytes_read.fetch_add(sample_access::take_bytes_read(kept->content),
                                std::memory_order_relaxed);
  seen.made = std::move(kept);
}

void row_function::produce(batch_slot& slot, std::size_t row, const epoch_item& what) {
  auto target = slot.target(row, dense_, ragged_);
  sample_access::reset(sample_, &target);
  // The fault is the sample's, so that a substitute can take its row.
  auto& x = slot.rows[row];
  const bool is_own = !plan_->shape.is_closed || what == own_item(slot, row);
  if (const auto& at = plan_->throw_at;
      is_own && std::find(at.begin(), at.end(), x.position) != at.end())
    throw bad_sample(cause::function_error, "a fault on purpose");
  if (plan_->shape.is_closed)
    maker_->make({.item = what.item, .epoch = what.era}, x.position, sample_);
  else
    maker_->make(*plan_->samples->program, slot.items[row].what, place_of(slot, row), x.position,
                 sample_);
  sample_access::deliver(sample_);
  x.delivered = what;
}

void row_function::seal(batch_slot& slot, std::size_t row) {
  auto& x = slot.rows[row];
  id_.clear();
  sample_access::append_id(sample_, id_);
  x.digest = row_digest(slot.epoch, x.position, id_);
  if (plan_->hash_pixels)
    x.pixels = hash_of_pixels(x);
}

void row_function::treat_bad(batch_slot& slot, std::size_t row, const bad_sample& problem) {
  auto& x = slot.rows[row];
  id_.clear();
  x.delivered = own_item(slot, row);
  append_id(slot, row, *plan_->samples, plan_->shape.lanes, maker_->orders(), id_);
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
  const auto lanes = plan_->shape.lanes;
  const auto lane = x.position % lanes;
  const auto items = plan_->shape.lane_items(lane);
  const auto era = own_item(slot, row).era;
  rng draw{map_stream(plan_->samples->seed, "substitute", 0),
           birth_of(0, slot.epoch, 0, x.position)};
  for (int i = 0; i < tries; ++i) {
    const epoch_item other{lane + draw.below(items) * lanes, era};
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

const std::string& row_function::stage_name() const {
  return plan_->samples->stage_names[record_->stage.load(std::memory_order_relaxed)];
}

} // namespace leat
