#include "runtime/rows/row_runner.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/order/iterators/edge.hpp"
#include "runtime/order/sample_key.hpp"
#include "runtime/rows/row_id.hpp"
#include "runtime/storage/object_store.hpp"

#include <leat/order.hpp>

#include <utility>

namespace leat {

namespace {

/// A sample that another thread takes comes from this core's caches, and its memory goes back here:
/// for the cost of one byte that is kept so, so many can be made again.
constexpr std::size_t cost_of_kept_byte = 64;

/// To find smaller records a row ahead costs more than to wait for their bytes.
constexpr std::uint64_t fewest_expected = 512;

} // namespace

row_runner::row_runner(std::shared_ptr<const job_plan> plan, std::shared_ptr<worker_record> record)
    : plan_(std::move(plan)), record_(std::move(record)) {}

void row_runner::run(const row_request& row, const row_target& target, row_result& result) {
  record_->epoch.store(row.epoch, std::memory_order_relaxed);
  record_->item.store(row.position, std::memory_order_relaxed);
  record_->stage.store(0, std::memory_order_relaxed);
  last_bytes_ = 0;
  try {
    if (!maker_)
      maker_.emplace(maker_of(*plan_, record_));
    row.edge ? probe(row, result) : run_or_treat(row, target, result);
  } catch (...) {
    result.what = row_result::outcome::failed;
    result.failure = with_sample(error_in_flight(errc::io, {.stage = stage_name()}), row, result);
    was_interrupted_ = was_interrupted_ || result.failure->code() == errc::interrupted;
  }
  const auto beside = maker_ ? maker_->take_bytes_read() : 0;
  count_read(sample_access::take_bytes_read(sample_) + beside);
}

void row_runner::count_read(std::uint64_t bytes) noexcept {
  last_bytes_ += bytes;
  add_alone(record_->bytes_read, bytes);
}

void row_runner::expect(const row_request& next) noexcept {
  if (!maker_ || last_bytes_ < fewest_expected)
    return;
  expected_.clear();
  try {
    if (auto* from = locate(next); from && !expected_.empty())
      from->expect(expected_[0].file, expected_[0].offset, expected_[0].size);
  } catch (...) { // the row itself will say what is wrong
  }
}

stored_objects* row_runner::locate(const row_request& row) {
  const auto& samples = *plan_->samples;
  if (plan_->shape.is_indexed)
    return samples.items->locate({.item = row.own.item, .epoch = row.own.epoch}, maker_->orders(),
                                 expected_);
  item_reader from{row.what};
  return (row.edge ? *samples.edges[*row.edge].input : *samples.iterator).locate(from, expected_);
}

void row_runner::run_together(std::span<const work> rows) {
  begin_together(rows);
  if (begun_rows_.empty())
    return;
  bool is_done = false;
  try {
    maker_->finish(begun_);
    finish_together();
    is_done = true;
  } catch (const error& problem) {
    // Not to be asked for a second time.
    is_done = problem.code() == errc::interrupted;
    was_interrupted_ = was_interrupted_ || is_done;
    for (const auto* x : begun_rows_)
      if (is_done) {
        x->result->what = row_result::outcome::failed;
        x->result->failure = problem;
      }
  } catch (...) { // one of them is bad
  }
  std::uint64_t bytes = maker_->take_bytes_read();
  for (const auto& x : begun_)
    bytes += sample_access::take_bytes_read(*x.of);
  add_alone(record_->bytes_read, bytes);
  if (is_done)
    return;
  for (const auto* x : begun_rows_) {
    x->result->clear();
    run(*x->row, x->target, *x->result);
  }
}

void row_runner::begin_together(std::span<const work> rows) {
  begun_.clear();
  begun_rows_.clear();
  while (samples_.size() < rows.size())
    samples_.push_back(std::make_unique<sample>());
  for (const auto& x : rows) {
    auto& into = *samples_[begun_.size()];
    try {
      if (!maker_)
        maker_.emplace(maker_of(*plan_, record_));
      if (fails_on_purpose(*x.row, x.row->own))
        throw bad_sample(cause::function_error, {});
      record_->epoch.store(x.row->epoch, std::memory_order_relaxed);
      record_->item.store(x.row->position, std::memory_order_relaxed);
      sample_access::reset(into, &x.target);
      begun_.push_back(maker_->begin(into, [&] { make_item(*x.row, x.row->own, into); }));
      take_given(*x.result);
      sample_access::own(into); // the next row uses memory again that it borrows: of a zip's inputs
      begun_rows_.push_back(&x);
    } catch (...) { // run() finds it again, and treats it
      begun_.resize(begun_rows_.size());
      run(*x.row, x.target, *x.result);
    }
  }
}

void row_runner::finish_together() {
  record_->clock.leave();
  for (std::size_t i = 0; i < begun_.size(); ++i) {
    const auto& x = *begun_rows_[i];
    sample_access::deliver(*begun_[i].of);
    x.result->delivered = x.row->own;
    seal(*x.row, x.target, *x.result, *begun_[i].of);
  }
}

void row_runner::append_id_of(const row_request& row, const row_result& result, std::string& to) {
  append_id(row, result.delivered, *plan_->samples, plan_->shape.lanes, maker_->orders(), to);
}

/// Adds the sample to an error about what the machine lacked, if its id can still be made.
error row_runner::with_sample(const error& problem, const row_request& row,
                              const row_result& result) {
  auto details = problem.details();
  if (problem.code() != errc::no_resources || !details.sample.empty() || !maker_ || row.edge)
    return problem;
  try {
    append_id_of(row, result, details.sample);
  } catch (...) {
    return problem;
  }
  return error(problem.code(), std::move(details));
}

void row_runner::run_or_treat(const row_request& row, const row_target& target,
                              row_result& result) {
  result.delivered = row.own;
  try {
    produce(row, target, result, row.own);
    seal(row, target, result, sample_);
  } catch (const bad_sample& problem) {
    treat_bad(row, target, result, problem);
  }
}

item_place row_runner::place_of(const row_request& row) const {
  const auto lanes = plan_->shape.lanes;
  return {row.position % lanes, lanes, row.when};
}

void row_runner::probe(const row_request& row, row_result& result) {
  result.seen.clear(); // a worker may have died over it
  try {
    probe_item(row, result.seen);
  } catch (const bad_sample& problem) {
    result.seen.clear();
    if (plan_->bad_samples == bad_sample_policy::mask) {
      result.seen.found.bad = true;
      return;
    }
    id_.clear();
    append_id_of(row, result, id_);
    result.what = row_result::outcome::failed;
    result.failure = error(errc::bad_sample,
                           {.stage = stage_name(),
                            .sample = id_,
                            .got = std::string{to_string(problem.why())} + ": " + problem.what()});
  }
}

void row_runner::probe_item(const row_request& row, sighting& seen) {
  const auto number = *row.edge;
  const auto& edge = plan_->samples->edges[number];
  const auto make = [&](sample& into) {
    sample_access::reset(into, nullptr);
    maker_->given().clear();
    return maker_->make_for_probe(*edge.input, row.what, place_of(row), into);
  };
  if (!edge.keeps_samples) {
    make(sample_);
    seen.found = maker_->probe(number, sample_);
    return;
  }
  const auto sample_key = make(sample_);
  seen.found = maker_->probe(number, sample_);
  if (!edge.only_field.empty()) {
    auto kept = fields_.keep(sample_, edge.only_field, sample_key, maker_->given());
    seen.bytes = kept->content.bytes.size();
    seen.made = std::move(kept);
    return;
  }
  const auto cost = is_in_one_thread_ ? 1 : cost_of_kept_byte;
  if ((sample_access::bytes_of_fields(sample_) + cost - 1) / cost <= edge.made_again)
    return;
  auto kept = made_->take();
  kept->sample_key = sample_key;
  kept->given = maker_->given();
  sample_access::swap(kept->content, sample_);
  // Its bytes may lie in memory that this worker reuses for the next one.
  sample_access::own(kept->content);
  kept->bytes = sample_access::memory(kept->content);
  count_read(sample_access::take_bytes_read(kept->content));
  seen.bytes = kept->bytes;
  seen.made = std::move(kept);
}

void row_runner::produce(const row_request& row, const row_target& target, row_result& result,
                         const epoch_item& what) {
  sample_access::reset(sample_, &target);
  if (!plan_->throw_at.empty() && fails_on_purpose(row, what))
    throw bad_sample(cause::function_error, "a fault on purpose");
  make_item(row, what, sample_);
  take_given(result);
  record_->clock.leave();
  sample_access::deliver(sample_);
  result.delivered = what;
}

/// The fault belongs to the sample, so that a substitute can take its row.
bool row_runner::fails_on_purpose(const row_request& row, const epoch_item& what) const {
  const auto& at = plan_->throw_at;
  return (!plan_->shape.is_indexed || what == row.own)
         && std::find(at.begin(), at.end(), row.position) != at.end();
}

void row_runner::make_item(const row_request& row, const epoch_item& what, sample& into) {
  maker_->given().clear();
  if (plan_->shape.is_indexed)
    maker_->make({.item = what.item, .epoch = what.epoch}, row.position, into);
  else
    maker_->make(*plan_->samples->iterator, row.what, place_of(row), row.position, into);
}

template <class Bytes>
hash128 row_runner::hash_of_fields(std::uint64_t position, Bytes bytes_of) const {
  hash_stream hash;
  hash.add(position);
  for (std::size_t i = 0; i < plan_->layout->fields().size(); ++i)
    hash.add_raw(bytes_of(i));
  return hash.digest128();
}

void row_runner::hash(const row_request& row, const batch_memory& memory, std::size_t number,
                      row_result& result) const {
  result.pixels =
      hash_of_fields(row.position, [&](std::size_t i) { return memory.row_of(i, number); });
}

void row_runner::seal(const row_request& row, const row_target& target, row_result& result,
                      const sample& x) {
  id_.clear();
  sample_access::append_id(x, id_);
  result.digest = row_digest(row.epoch, row.position, id_);
  if (plan_->hash_pixels)
    result.pixels = hash_of_fields(row.position, [&](std::size_t i) {
      const auto& field = plan_->layout->fields()[i];
      return field.ragged ? std::span<const std::byte>{target.ragged[i].bytes()}
                          : std::span<const std::byte>{target.dense[i], field.row_bytes()};
    });
}

void row_runner::treat_bad(const row_request& row, const row_target& target, row_result& result,
                           const bad_sample& problem) {
  id_.clear();
  result.delivered = row.own;
  append_id_of(row, result, id_);
  result.bad = bad_row{row.position, id_, problem.why(), problem.what(), {}};
  // Taken now: substitutes may fail in other stages.
  const auto stage = stage_name();
  auto fail = [&](const std::string& got) {
    result.what = row_result::outcome::failed;
    result.failure =
        error(errc::bad_sample, {.stage = stage, .sample = result.bad->id, .got = got});
  };
  auto what = std::string{to_string(problem.why())} + ": " + problem.what();
  if (problem.why() == cause::missing_field && stage.starts_with("tar"))
    what += "; the members of one key must be neighbours in a tar file (tar --sort=name)";
  switch (plan_->bad_samples) {
  case bad_sample_policy::fail:
    return fail(what);
  case bad_sample_policy::mask:
    result.what = row_result::outcome::masked;
    return;
  case bad_sample_policy::substitute:
    if (!substitute(row, target, result))
      fail(what + "; no good substitute in its lane");
  }
}

bool row_runner::substitute(const row_request& row, const row_target& target, row_result& result) {
  constexpr int tries = 64;
  const auto lanes = plan_->shape.lanes;
  const auto lane = row.position % lanes;
  const auto items = plan_->shape.lane_items(lane);
  rng draw{map_stream(plan_->samples->seed, "substitute", 0),
           sample_key_of(0, row.epoch, 0, row.position)};
  for (int i = 0; i < tries; ++i) {
    const epoch_item other{lane + draw.below(items) * lanes, row.own.epoch};
    try {
      produce(row, target, result, other);
      seal(row, target, result, sample_);
      result.bad->substitute = id_;
      return true;
    } catch (const bad_sample&) {
      continue; // try the next draw
    }
  }
  return false;
}

const std::string& row_runner::stage_name() const {
  return plan_->samples->stage_names[record_->stage.load(std::memory_order_relaxed)];
}

} // namespace leat
