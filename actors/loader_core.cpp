#include "actors/loader_core.hpp"

#include "actors/own_thread.hpp"
#include "actors/runtime_system.hpp"
#include "runtime/base/exception_text.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/order/lane_limit.hpp"
#include "runtime/pipeline/pipeline_facts.hpp"
#include "runtime/rows/formula_order.hpp"
#include "runtime/rows/program_order.hpp"
#include "runtime/rows/rewindable_order.hpp"
#include "runtime/rows/row_id.hpp"
#include "runtime/rows/stuck_report.hpp"
#include "runtime/sample/once_feed.hpp"
#include "runtime/snapshot/snapshot_store.hpp"

#include <leat/notice.hpp>

#include <caf/send.hpp>

#include <algorithm>
#include <chrono>
#include <new>
#include <set>
#include <utility>

namespace leat {

namespace {

using std::chrono::steady_clock;

void validate(const loader_options& x) {
  auto refuse = [](const char* field, const std::string& got, const std::string& needed) {
    throw error(errc::invalid_argument,
                {.stage = std::string{"loader_options."} + field, .got = got, .needed = needed});
  };
  if (x.world_size == 0)
    refuse("world_size", "0", "at least 1");
  if (x.rank >= x.world_size)
    refuse("rank", std::to_string(x.rank),
           "below the world size of " + std::to_string(x.world_size));
  if (x.leases == 0)
    refuse("leases", "0", "at least 1");
  if (x.keep == 0)
    refuse("keep", "0", "at least 1");
  if (x.stuck_after.count() < 0)
    refuse("stuck_after", std::to_string(x.stuck_after.count()) + " ms", "0 or more");
  constexpr std::chrono::hours longest{100 * 365 * 24}; // else it is no number of nanoseconds
  if (x.stuck_after > longest)
    refuse("stuck_after", std::to_string(x.stuck_after.count()) + " ms", "at most 100 years, or 0");
  if (x.workers > 4096)
    refuse("workers", std::to_string(x.workers), "at most 4096");
  check_range("loader_options.world_size", x.world_size, 1, max_world_size);
  check_range("loader_options.prefetch", x.prefetch, 0, max_batches_ahead);
  check_range("loader_options.leases", x.leases, 1, max_leases);
  if (x.workers == 0 && !x.fault.deaths.empty())
    refuse("fault.deaths", "0 workers", "workers that can die");
}

/// "1, 2, 3, 4, 6, 8, 12 or 24"
std::string divisors_of(std::uint64_t n) {
  std::string text;
  for (std::uint64_t i = 1; i < n; ++i)
    if (n % i == 0)
      text += (text.empty() ? "" : ", ") + std::to_string(i);
  return text + (text.empty() ? "" : " or ") + std::to_string(n);
}

/// What a pipeline that is ordered by programs cannot do.
void validate(const loader_options& x, const row_plan& plan,
              const std::optional<std::string>& limit) {
  auto refuse = [](const char* field, const std::string& got, const std::string& needed) {
    throw error(errc::invalid_argument,
                {.stage = std::string{"loader_options."} + field, .got = got, .needed = needed});
  };
  const auto& shape = plan.shape;
  if (shape.is_closed)
    return;
  if (shape.lanes % x.world_size != 0)
    refuse("world_size",
           std::to_string(x.world_size)
               + ", and lanes with a state: " + std::to_string(shape.lanes),
           divisors_of(shape.lanes) + (limit ? ": " + *limit : ""));
  if (x.bad_samples == bad_sample_policy::substitute)
    refuse("bad_samples", "substitute for samples that are found by reading", "fail or mask");
  if (x.world_size > 1 && !shape.is_endless() && !x.agree)
    refuse("agree", "none, " + std::to_string(x.world_size) + " ranks and epochs of unknown length",
           "an all-gather, or batch({.end = epoch_end::cycle})");
}

/// Where a job of these epochs can stand. `same`: nothing else differs, batch sizes for one.
void check_position(const snapshot& x, const epoch_shape& shape, bool same) {
  const auto refuse = [&](const std::string& needed) {
    throw error(errc::bad_snapshot,
                {.stage = "restore",
                 .got = "epoch " + std::to_string(x.epoch) + " step " + std::to_string(x.step)
                        + ", step " + std::to_string(x.global_step) + " of a job that began at "
                        + std::to_string(x.began),
                 .needed = needed});
  };
  constexpr auto most = std::uint64_t{1} << 62;
  if (x.epoch > most || x.global_step > most || x.step > most / shape.batch_rows)
    refuse("steps that can be counted to");
  if (x.began > x.global_step)
    refuse("a beginning at or before the step");
  if (shape.is_endless() && x.epoch != 0)
    refuse("epoch 0, which has no end");
  if (same && shape.has_length() && x.step >= shape.batches())
    refuse("a step below the epoch's " + std::to_string(shape.batches()));
}

[[noreturn]] void refuse_child() {
  throw error(errc::invalid_argument,
              {.stage = "loader",
               .got = "a call in the child of a fork, where its parent's threads are not",
               .needed = "loaders made behind the fork in a process whose parent had none, or a "
                         "program of its own (exec)"});
}

/// The child of a process that has had loaders cannot have any: what its parent's threads held at
/// the fork stays locked there.
void check_process() {
  static const process_mark first;
  if (!first.is_here())
    refuse_child();
}

/// Bytes of one row as memory is planned; a ragged field counts as a small record.
std::size_t planned_row_bytes(const batch_layout& layout) {
  constexpr std::size_t ragged_guess = 64 << 10;
  std::size_t bytes = 0;
  for (const auto& x : layout.fields())
    bytes += x.ragged ? ragged_guess : x.row_bytes();
  return bytes;
}

} // namespace

void save_tracker::begin() {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [&] { return on_their_way_ < 2; });
  ++on_their_way_;
}

void save_tracker::end(std::optional<error> problem) {
  std::lock_guard lock{mutex_};
  --on_their_way_;
  if (problem && !problem_)
    problem_ = std::move(problem);
  changed_.notify_all();
}

void save_tracker::wait_for_all() {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [&] { return on_their_way_ == 0; });
}

void save_tracker::check() {
  std::optional<error> problem;
  {
    std::lock_guard lock{mutex_};
    problem.swap(problem_);
  }
  if (problem)
    throw error(*problem);
}

loader_core::loader_core(const pipeline& data, loader_options options)
    : options_(std::move(options)), caller_(options_.stuck_after, options_.on_stuck),
      bad_log_(options_.bad_sample_log) {
  check_process();
  validate(options_);
  learn_first_layout(plan_without_layout(data));
  auto plan = *plan_;
  plan.bad_samples = options_.bad_samples;
  plan.hash_pixels = options_.hash_pixels;
  plan.throw_at = options_.fault.throw_at;
  plan_ = std::make_shared<const row_plan>(std::move(plan));
  const auto limit = lane_limit(data.root());
  validate(options_, *plan_, limit);
  // Once in a job.
  if (limit && options_.rank == 0)
    notice("loader: " + *limit);
  facts_ = describe(data, plan_->shape.lanes);
  data_digest_ = data_digest(data.root());
  encode_ = snapshot_encoder{facts_};
  records_ = std::make_shared<record_release>(plan_->samples->feeds, plan_->shape.lanes,
                                              options_.rank, options_.world_size);
  rows_per_batch_ = (plan_->shape.batch_rows + options_.world_size - 1) / options_.world_size;
}

loader_core::~loader_core() {
  shutdown();
}

void loader_core::leave_to_parent(std::shared_ptr<loader_core> core) noexcept {
  [[maybe_unused]] const auto* left = new (std::nothrow) std::shared_ptr{std::move(core)};
}

void loader_core::check_here() const {
  if (!is_here())
    refuse_child();
}

/// While it runs, plan_ is the plan without a layout.
void loader_core::learn_first_layout(row_plan plan) {
  const doing told{std::make_shared<worker_record>(), calls_};
  plan_ = std::make_shared<const row_plan>(plan);
  caller_.look_at(plan_, told);
  plan.layout = leat::learn_layout(plan, told);
  plan_ = std::make_shared<const row_plan>(std::move(plan));
}

std::size_t loader_core::prefetch_depth() const noexcept {
  if (inline_mode())
    return 1;
  if (options_.prefetch > 0)
    return options_.prefetch;
  constexpr std::size_t small = std::size_t{16} << 20;
  const auto fit =
      small / std::max<std::size_t>(1, rows_per_batch_ * planned_row_bytes(*plan_->layout));
  return std::clamp<std::size_t>(fit, 2, 16);
}

std::unique_ptr<batch_order> loader_core::make_order() {
  const auto shape = plan_->shape;
  if (shape.is_closed)
    return std::make_unique<formula_order>(shape, options_.rank, options_.world_size,
                                           options_.epochs, next_);
  const program_start begin{next_, lanes_ ? *lanes_ : lane_states{}, calls_};
  if (!plan_->layout)
    learn_layout();
  return std::make_unique<program_order>(plan_->samples, shape, options_.rank, options_.world_size,
                                         options_.epochs, begin);
}

/// Alike on all ranks: from where the job began, or was restored.
void loader_core::learn_layout() {
  auto plan = *plan_;
  if (!fields_.known.empty()) {
    plan.layout = std::make_shared<const batch_layout>(fields_.known);
  } else if (next_.epoch < options_.epochs) {
    const doing told{std::make_shared<worker_record>(), calls_};
    caller_.look_at(plan_, told);
    plan.layout = layout_behind(plan, {fields_.learn_at, fields_.learn_lanes}, told);
  } else { // the job is over
    plan.layout = std::make_shared<const batch_layout>();
  }
  plan_ = std::make_shared<const row_plan>(std::move(plan));
  fields_.learn_lanes = {};
}

std::unique_ptr<batch_order> loader_core::make_rewindable_order() {
  auto first = make_order();
  auto anew = [samples = plan_->samples, shape = plan_->shape, rank = options_.rank,
               world_size = options_.world_size, epochs = options_.epochs,
               calls = calls_]() -> std::unique_ptr<batch_order> {
    if (shape.is_closed)
      return std::make_unique<formula_order>(shape, rank, world_size, epochs, job_position{});
    return std::make_unique<program_order>(samples, shape, rank, world_size, epochs,
                                           program_start{.at = {}, .lanes = {}, .calls = calls});
  };
  return std::make_unique<rewindable_order>(std::move(first), run_, std::move(anew));
}

void loader_core::start() {
  try {
    auto order = make_rewindable_order();
    ahead_ = prefetch_depth();
    inline_mode() ? start_inline(std::move(order)) : start_actors(std::move(order));
  } catch (...) {
    fail(error_in_flight(errc::io, {.stage = "loader"}));
  }
}

void loader_core::start_inline(std::unique_ptr<batch_order> order) {
  auto config = make_worker(0, false);
  self_worker_.emplace();
  self_worker_->plan = plan_;
  self_worker_->record = config.record;
  self_worker_->drill = config.drill;
  self_worker_->function.emplace(plan_, config.record);
  order_.emplace(std::move(order), *self_worker_->function);
  caller_.look_at(plan_, {config.record, calls_});
}

void loader_core::start_actors(std::unique_ptr<batch_order> order) {
  const auto& shape = plan_->shape;
  const auto& edges = plan_->samples->edges;
  const bool keeps_samples =
      std::any_of(edges.begin(), edges.end(), [](const auto& x) { return x.keeps_samples; });
  dispatcher_config config{
      .order = std::move(order),
      .policy = {shape.lanes, options_.world_size, options_.dispatch},
      // A quarter of what is under way at a time, so that programs and workers overlap.
      .rows_a_probe =
          std::max<std::size_t>(1, keeps_samples ? rows_per_batch_ / 2 : 2 * rows_per_batch_),
      .feeds = plan_->samples->feeds,
      .workers = options_.workers,
      .make_worker = [this](std::size_t number,
                            bool replaces) { return make_worker(number, replaces); },
      .detached = !shape.is_closed,
      .alive = lives_};
  caller_.look_away();
  {
    std::lock_guard lock{actors_mutex_};
    system_ = &shared_system();
    actors_ =
        spawn_pipeline(*system_, config, [this](slot_ptr slot) { ready_.push(std::move(slot)); });
  }
  while (slots_ < ahead_)
    add_slot();
}

worker_config loader_core::make_worker(std::size_t number, bool replaces) {
  worker_config config{plan_, board_.add(number), {}, lives_};
  const auto& fault = options_.fault;
  for (const auto& x : fault.slow)
    if (x.worker == number)
      config.drill.slow_by = x.by;
  if (replaces)
    replaced_.fetch_add(1);
  auto earlier = lives_begun_[number]++;
  for (const auto& x : fault.deaths)
    if (x.worker == number && x.position % options_.world_size == options_.rank && earlier-- == 0)
      config.drill.die_at = x.position;
  return config;
}

void loader_core::add_slot() {
  auto slot = std::make_shared<batch_slot>(plan_->layout, rows_per_batch_);
  ++slots_;
  recycle(std::move(slot)); // others give theirs back meanwhile
}

lease loader_core::next() {
  if (failure_)
    throw error(*failure_);
  saves_->check();
  if (ended_ || global_step_ >= options_.steps)
    return {};
  if (leases_out_.load() >= options_.leases)
    throw error(
        errc::leases_exhausted,
        {.stage = "next",
         .got = std::to_string(leases_out_.load()) + " leases that are still held",
         .needed = "fewer than loader_options.leases = " + std::to_string(options_.leases)});
  if (!has_started())
    start();
  // Held leases must not eat into the batches that are made ahead.
  while (slots_ < ahead_ + leases_out_.load())
    add_slot();
  try {
    return next_batch();
  } catch (...) { // no batch may be missing before one that is handed over
    fail(error_in_flight(errc::io, {.stage = "next"}));
  }
}

lease loader_core::next_batch() {
  while (global_step_ < options_.steps) {
    auto slot = next_slot();
    if (is_stale(*slot)) {
      recycle(std::move(slot));
      continue;
    }
    if (slot->what == batch_slot::kind::end) {
      ended_ = true;
      recycle(std::move(slot)); // more may come: see rewind
      return {};
    }
    // Made ahead, of an epoch that is over or was abandoned.
    if (slot->epoch >= next_.epoch) {
      settle(*slot);
      if (slot->what == batch_slot::kind::failed)
        fail(*slot->failure);
      if (!left_out_.contains(global_step_))
        return hand_over(std::move(slot));
      go_behind(*slot);
    }
    recycle(std::move(slot));
  }
  return {};
}

slot_ptr loader_core::next_slot() {
  return inline_mode() ? run_inline() : wait_for_slot();
}

void loader_core::settle(batch_slot& slot) {
  const auto& shape = plan_->shape;
  if (shape.is_closed || shape.is_endless() || options_.world_size == 1)
    return;
  const bool has_failed = slot.what == batch_slot::kind::failed;
  if (has_failed ? is_asked_again() : !agreed_.is_final && slot.step + 1 >= agreed_.batches)
    agree({static_cast<std::int64_t>(slot.horizon.batches), slot.horizon.is_final ? 1 : 0,
           has_failed ? 1 : 0});
  slot.end_of_epoch = agreed_.is_final && slot.step + 1 == agreed_.batches;
  if (agreed_.is_final && slot.step >= agreed_.batches && !has_failed)
    fail(error(errc::empty_epoch, {.stage = "batch",
                                   .got = "no batch in epoch " + std::to_string(slot.epoch)
                                          + " that all ranks could fill",
                                   .needed = "at least one"}));
}

/// Whether the other ranks will want to hear of this one again: they ask with the last batch that
/// they have agreed on, or, where it ends the epoch, with the first one of the next.
bool loader_core::is_asked_again() const noexcept {
  const auto known = agreed_.batches - std::min(agreed_.batches, next_.step);
  const auto until = agreed_.is_final ? known : known - std::min<std::uint64_t>(known, 1);
  return global_step_ + until < options_.steps
         && (!agreed_.is_final || next_.epoch + 1 < options_.epochs);
}

void loader_core::agree(const epoch_agreement& mine) {
  std::vector<epoch_agreement> all;
  try {
    all = options_.agree(mine);
  } catch (...) {
    fail(error_in_flight(errc::worker_lost, {.stage = "loader_options.agree"}));
  }
  const auto failed = static_cast<std::size_t>(
      std::find_if(all.begin(), all.end(), [](auto& x) { return x.has_failed != 0; })
      - all.begin());
  if (all.size() != options_.world_size)
    fail(error(errc::invalid_argument,
               {.stage = "loader_options.agree",
                .got = std::to_string(all.size()) + " answers",
                .needed = "one of each of " + std::to_string(options_.world_size) + " ranks"}));
  if (mine.has_failed == 0 && failed < all.size())
    fail(error(errc::worker_lost, {.stage = "agree",
                                   .got = "rank " + std::to_string(failed) + ", which has failed",
                                   .needed = "all ranks"}));
  const auto by_batches = [](auto& a, auto& b) { return a.batches < b.batches; };
  const auto end = plan_->shape.end == epoch_end::drop
                       ? std::min_element(all.begin(), all.end(), by_batches)
                       : std::max_element(all.begin(), all.end(), by_batches);
  agreed_.batches = static_cast<std::uint64_t>(end->batches);
  // drop: one rank that has no more ends it for all; mask: all must have no more.
  const auto is_final = [&](auto& x) { return x.is_final != 0 && x.batches == end->batches; };
  agreed_.is_final = plan_->shape.end == epoch_end::drop
                         ? std::any_of(all.begin(), all.end(), is_final)
                         : std::all_of(all.begin(), all.end(), [](auto& x) { return x.is_final; });
}

void loader_core::tell_epoch(std::uint64_t epoch) {
  agreed_ = {};
  if (!has_started())
    return;
  if (inline_mode()) {
    order_->begin_epoch(epoch);
    return;
  }
  std::lock_guard lock{actors_mutex_};
  caf::anon_send(actors_.dispatcher, epoch_atom_v, epoch);
}

void loader_core::abandon_epoch() {
  if (plan_->shape.is_endless())
    throw error(errc::invalid_argument, {.stage = "abandon_epoch",
                                         .got = "a pipeline of one endless epoch",
                                         .needed = "batch() with end drop or mask"});
  if (next_.step == 0)
    return; // nothing of it was handed over: the epoch before has ended
  next_ = {next_.epoch + 1, 0};
  lanes_ = nullptr;
  tell_epoch(next_.epoch);
}

bool loader_core::is_stale(const batch_slot& slot) const noexcept {
  // One that fails whatever is next has no run.
  return slot.run != run_ && slot.epoch != UINT64_MAX;
}

void loader_core::rewind() {
  if (failure_)
    throw error(*failure_);
  if (!plan_->samples->feeds.empty())
    throw error(errc::invalid_argument, {.stage = "rewind",
                                         .got = "records that exist once",
                                         .needed = "data that can be read again"});
  bad_log_.cut(0, 0, options_.rank, options_.world_size);
  ++run_;
  next_ = {};
  lanes_ = nullptr;
  agreed_ = {};
  global_step_ = 0;
  began_ = 0;
  sums_ = {};
  ended_ = false;
  is_resumed_ = false;
  if (!has_started())
    return;
  if (inline_mode())
    return order_->rewind(run_);
  // Before the dispatcher hears of it: what comes later may be of the new run already.
  std::vector<slot_ptr> made_ahead;
  while (auto slot = ready_.try_pop())
    made_ahead.push_back(std::move(*slot));
  {
    std::lock_guard lock{actors_mutex_};
    caf::anon_send(actors_.dispatcher, rewind_atom_v, run_);
  }
  // Its memory is for the new run, which begins at once.
  for (auto& slot : made_ahead)
    recycle(std::move(slot));
}

slot_ptr loader_core::run_inline() {
  slot_ptr slot;
  {
    std::lock_guard lock{free_mutex_};
    slot = std::move(free_.back());
    free_.pop_back();
  }
  try {
    order_->open(*slot);
    if (slot->what == batch_slot::kind::batch)
      self_worker_->run(*slot, 0, slot->num_rows);
    self_worker_->rest();
    slot->close();
  } catch (...) {
    fail(error_in_flight(errc::io, {.stage = "programs"}));
  }
  return slot;
}

slot_ptr loader_core::wait_for_slot() {
  if (auto slot = ready_.try_pop())
    return std::move(*slot);
  const auto begin = steady_clock::now();
  const auto limit = options_.stuck_after;
  call_watch programs;
  (void)programs.look(*calls_, steady_ns(), 0); // which call runs, if any
  for (;;) {
    // Workers and programs may be idle and the batch still on its way: then there is nobody to
    // name.
    const auto oldest = std::min(board_.oldest_start_ns(), programs.since_ns());
    auto slot =
        limit.count() > 0
            ? ready_.pop_until(steady_clock::time_point{std::chrono::nanoseconds{oldest}} + limit)
            : ready_.pop_until(steady_clock::now() + std::chrono::hours{24});
    if (slot) {
      waited_ += steady_clock::now() - begin;
      return std::move(*slot);
    }
    if (limit.count() > 0)
      check_not_stuck(programs);
  }
}

void loader_core::check_not_stuck(call_watch& programs) {
  const auto now = steady_ns();
  const auto limit = std::chrono::nanoseconds{options_.stuck_after}.count();
  if (const auto record = board_.busy_since_before(now - limit))
    fail(stuck_error(*record));
  if (const auto call = programs.look(*calls_, now, limit))
    fail(stuck_call(*call, "in the programs' thread", options_.stuck_after));
}

namespace {

/// Adds steps to those that a job at `now` leaves out. Such as are past must be among them already:
/// a job that is started anew says the same again.
void add_left_out(step_set& to, const step_range& steps, std::uint64_t now) {
  const auto refuse = [&](const std::string& why, const std::string& needed) {
    throw error(errc::invalid_argument,
                {.stage = "leave_out_steps",
                 .got = std::to_string(steps.first) + " to " + std::to_string(steps.last) + why,
                 .needed = needed});
  };
  if (steps.first > steps.last)
    refuse("", "rising steps");
  if (steps.first < now)
    if (const auto past = to.first_missing({steps.first, std::min(steps.last, now - 1)}))
      refuse(", but step " + std::to_string(*past) + " is past and was not left out",
             "steps from " + std::to_string(now) + " on, or an earlier snapshot");
  to.add(steps);
}

} // namespace

void loader_core::leave_out(const step_range& steps) {
  check_not_begun("leave_out_steps");
  add_left_out(left_out_, steps, global_step_);
  asked_to_leave_out_.push_back(steps);
}

void loader_core::go_behind(const batch_slot& slot) {
  if (slot.step == 0)
    sums_.epoch_digest = {};
  next_ =
      slot.end_of_epoch ? job_position{slot.epoch + 1, 0} : job_position{slot.epoch, slot.step + 1};
  lanes_ = slot.end_of_epoch ? nullptr : slot.lanes;
  if (slot.end_of_epoch && !plan_->shape.is_closed && options_.world_size > 1)
    tell_epoch(next_.epoch);
  if (lanes_ && !can_snapshot())
    records_->passed(*lanes_);
  ++global_step_;
}

lease loader_core::hand_over(slot_ptr slot) {
  // First: a batch that cannot be logged is not handed over.
  bad_log_.append(slot->epoch, slot->step, options_.rank, slot->bad);
  go_behind(*slot);
  sums_.digest += slot->digest;
  sums_.epoch_digest += slot->digest;
  sums_.samples += slot->num_valid;
  for (const auto& x : slot->bad)
    ++sums_.bad[static_cast<std::size_t>(x.why)];
  ++batches_;
  samples_ += slot->num_valid;
  lease result;
  result.batch_.sums_ = std::make_shared<const handed_over>(sums_);
  result.batch_.began_ = began_;
  result.batch_.global_step_ = global_step_ - 1;
  leases_out_.fetch_add(1);
  result.batch_.core_ = shared_from_this();
  result.batch_.slot_ = std::move(slot);
  return result;
}

void loader_core::fail(const error& problem) {
  failure_ = problem;
  throw error(problem);
}

error loader_core::stuck_error(const worker_record& record) const {
  return stuck_row(*plan_, record, "on worker " + std::to_string(record.number),
                   options_.stuck_after);
}

std::string loader_core::id_of(const batch_slot& slot, std::size_t row) const {
  std::string id;
  order_cache orders{plan_->samples->num_shuffles};
  append_id(slot, row, *plan_->samples, plan_->shape.lanes, orders, id);
  return id;
}

void loader_core::recycle(slot_ptr slot) {
  if (inline_mode()) {
    std::lock_guard lock{free_mutex_};
    free_.push_back(std::move(slot));
  } else {
    std::lock_guard lock{actors_mutex_};
    if (actors_.batcher)
      caf::anon_send(actors_.batcher, free_atom_v, std::move(slot));
  }
}

void loader_core::give_back(slot_ptr slot) noexcept {
  if (!is_here())
    return leave_to_parent(shared_from_this());
  recycle(std::move(slot));
  // Last: once the lease counts as ended, next() relies on its slot.
  leases_out_.fetch_sub(1);
}

std::optional<std::uint64_t> loader_core::batches_per_epoch() const {
  const auto& shape = plan_->shape;
  return shape.has_length() ? std::optional{shape.batches()} : std::nullopt;
}

/// Every `step`-th lane from `first` on, from whatever parts they come; none at the beginning of an
/// epoch.
lane_states loader_core::lanes_of_parts(const char* stage, const snapshot& merged,
                                        std::size_t parts, std::uint64_t first,
                                        std::uint64_t step) const {
  lane_states found;
  if (merged.lanes.empty()) {
    if (merged.step != 0)
      throw error(errc::bad_snapshot,
                  {.stage = stage,
                   .got = "no lane's state at step " + std::to_string(merged.step),
                   .needed = "one of each lane"});
    return found;
  }
  auto next = merged.lanes.begin();
  for (auto lane = first; lane < plan_->shape.lanes; lane += step) {
    next = std::find_if(next, merged.lanes.end(), [&](auto& x) { return x.lane >= lane; });
    if (next == merged.lanes.end() || next->lane != lane)
      throw error(errc::bad_snapshot,
                  {.stage = stage,
                   .got = std::to_string(parts) + " of " + std::to_string(merged.world_size)
                          + " parts, without lane " + std::to_string(lane) + " of rank "
                          + std::to_string(lane % merged.world_size),
                   .needed = "the parts of all ranks"});
    found.push_back(*next);
  }
  return found;
}

lane_states loader_core::own_lanes(const char* stage, const snapshot& merged,
                                   std::size_t parts) const {
  return lanes_of_parts(stage, merged, parts, options_.rank, options_.world_size);
}

/// The lanes that a rank takes over; null where they begin.
std::shared_ptr<const lane_states> loader_core::restored_lanes(const snapshot& merged,
                                                               std::size_t parts,
                                                               const job_position& next) const {
  if (plan_->shape.is_closed)
    return nullptr;
  auto mine = std::make_shared<lane_states>(own_lanes("restore", merged, parts));
  records_->restored(next, *mine);
  return mine->empty() ? nullptr : std::move(mine);
}

/// Of records that exist once. Where a difference that was allowed may change the fields, they are
/// learned anew, which takes the states of all lanes.
loader_core::once_fields loader_core::restored_fields(const snapshot& merged, std::size_t parts,
                                                      const job_position& next) const {
  if (!records_->has_feeds())
    return {};
  const auto differs = compare(merged, facts_);
  const bool may_change = std::any_of(differs.begin(), differs.end(), [](const difference& x) {
    return x.name == "maps" || x.name == "fields" || x.name == "enumerate";
  });
  if (!may_change && !merged.fields.empty())
    return {merged.fields, {}, {}};
  return {{}, next, lanes_of_parts("restore", merged, parts, 0, 1)};
}

resume_point loader_core::restore(const std::vector<snapshot>& parts, bool complete,
                                  const restore_options& options) {
  check_not_begun("restore");
  auto merged = merge(parts, complete);
  check(merged, facts_, options.allow);
  check_position(merged, plan_->shape, compare(merged, facts_).empty());
  step_set left_out{merged.left_out};
  for (const auto& steps : asked_to_leave_out_)
    add_left_out(left_out, steps, merged.global_step);
  job_position next{merged.epoch, step_for(merged, facts_)};
  if (plan_->shape.has_length() && next.step >= plan_->shape.batches())
    next = {next.epoch + 1, 0}; // under an allowed other batch size
  auto lanes = restored_lanes(merged, parts.size(), next);
  auto fields = restored_fields(merged, parts.size(), next);
  auto plan = *plan_;
  if (records_->has_feeds())
    plan.layout = nullptr;
  auto shared = std::make_shared<const row_plan>(std::move(plan));
  bad_log_.cut(next.epoch, next.step, options_.rank, options_.world_size);
  // From here on nothing throws: a restore that fails leaves the loader where it stood.
  plan_ = std::move(shared);
  next_ = next;
  lanes_ = std::move(lanes);
  fields_ = std::move(fields);
  agreed_ = {};
  left_out_ = std::move(left_out);
  global_step_ = merged.global_step;
  // Each rank may hold its own part of the same world; else rank 0 takes over the sums of all.
  const bool own = parts.size() == 1 && parts[0].world_size == options_.world_size
                   && parts[0].rank == options_.rank;
  if (own)
    sums_ = parts[0].sums;
  else
    sums_ = options_.rank == 0 ? merged.sums : handed_over{};
  began_ = own ? parts[0].began : merged.global_step;
  is_resumed_ = true;
  return {next_.epoch, next_.step, global_step_, sums_.digest};
}

std::optional<resume_point> loader_core::restore(const std::string& directory,
                                                 const restore_options& options) {
  auto found = snapshot_store{directory}.newest(options.allow_older);
  for (const auto& text : found.skipped)
    notice("snapshot: " + directory + ": skipped " + text);
  if (!found) {
    bad_log_.cut(0, 0, options_.rank, options_.world_size); // begins again
    return std::nullopt;
  }
  const auto at = restore(found.parts, true, options);
  if (records_->has_feeds())
    records_->found_saved(next_, lanes_ ? *lanes_ : lane_states{});
  return at;
}

/// What the parts of one step need of the rank's lanes.
void loader_core::keep(const std::vector<snapshot>& parts) {
  if (!records_->has_feeds())
    return;
  const auto merged = merge(parts, false);
  for (const auto& x : compare(merged, facts_))
    if (!x.can_allow)
      throw error(errc::mismatch, {.stage = "keep",
                                   .got = x.text,
                                   .needed = "a snapshot that this pipeline can go on from"});
  const job_position at{merged.epoch, merged.step};
  const auto mine = own_lanes("keep", merged, parts.size());
  records_->keep(at, mine);
}

/// Parts of one step count once, as they do for keep().
void loader_core::let_go(const std::vector<snapshot>& parts) {
  if (!records_->has_feeds())
    return;
  std::set<std::pair<std::uint64_t, std::uint64_t>> places;
  for (const auto& x : parts)
    places.emplace(x.epoch, x.step);
  for (const auto& [epoch, step] : places)
    records_->let_go({epoch, step}, next_, lanes_ ? *lanes_ : lane_states{});
}

void loader_core::check_not_begun(const char* stage) const {
  if (has_started())
    throw error(errc::invalid_argument,
                {.stage = stage, .got = "a loader that has begun", .needed = "a new one"});
}

void loader_core::seek(const job_position& to) {
  check_not_begun("seek");
  std::uint64_t before = 0;
  const auto& shape = plan_->shape;
  const auto refuse = [&](std::string needed) {
    throw error(errc::invalid_argument,
                {.stage = "seek",
                 .got = "epoch " + std::to_string(to.epoch) + " step " + std::to_string(to.step),
                 .needed = std::move(needed)});
  };
  if (shape.is_endless() && to.epoch != 0)
    refuse("epoch 0: it has no end");
  if (shape.has_length()
      && (to.step >= shape.batches() || __builtin_mul_overflow(to.epoch, shape.batches(), &before)))
    refuse("a step below " + std::to_string(shape.batches())
           + " of an epoch that can be counted to");
  next_ = to;
  lanes_ = nullptr;
  agreed_ = {};
  global_step_ = before + to.step;
  if (!shape.is_closed) {
    next_.step = 0;
    global_step_ = 0;
    pass_over(to.step);
    if (next_ != to)
      fail(error(errc::invalid_argument, {.stage = "seek",
                                          .got = "step " + std::to_string(to.step) + " of epoch "
                                                 + std::to_string(to.epoch),
                                          .needed = "a step that the epoch has"}));
  }
  began_ = global_step_;
  sums_ = {};
  bad_log_.cut(next_.epoch, next_.step, options_.rank, options_.world_size);
}

void loader_core::skip_first_batches(std::uint64_t n) {
  check_not_begun("skip_first_batches");
  n = std::min(n, options_.steps - std::min(options_.steps, global_step_));
  if (!plan_->shape.is_closed)
    return pass_over(n);
  if (!plan_->shape.is_endless())
    n = std::min(n, batches_left());
  std::uint64_t step = 0;
  if (__builtin_add_overflow(next_.step, n, &step)
      || __builtin_add_overflow(global_step_, n, &global_step_))
    throw error(errc::invalid_argument, {.stage = "skip_first_batches",
                                         .got = std::to_string(n) + " batches",
                                         .needed = "a job that can be counted to its end"});
  if (plan_->shape.is_endless()) {
    next_.step = step;
    return;
  }
  const auto batches = plan_->shape.batches();
  if (step >= batches)
    sums_.epoch_digest = {};
  next_ = {next_.epoch + step / batches, step % batches};
}

/// Of a job whose epochs have a length; at most 2^64 - 1.
std::uint64_t loader_core::batches_left() const noexcept {
  if (next_.epoch >= options_.epochs)
    return 0;
  std::uint64_t all = 0;
  if (__builtin_mul_overflow(options_.epochs - next_.epoch, plan_->shape.batches(), &all))
    return UINT64_MAX;
  return all - next_.step;
}

void loader_core::pass_over(std::uint64_t n) {
  if (n == 0)
    return;
  auto order = make_order();
  const auto record = std::make_shared<worker_record>();
  caller_.look_at(plan_, {record, calls_});
  row_function looks{plan_, record};
  inline_order batches{std::move(order), looks};
  batch_slot slot{plan_->layout, rows_per_batch_};
  for (; n > 0; --n) {
    batches.open(slot);
    if (slot.what == batch_slot::kind::end)
      return;
    settle(slot);
    if (slot.what == batch_slot::kind::failed)
      fail(*slot.failure);
    go_behind(slot);
    batches.begin_epoch(next_.epoch); // ranks may have agreed that it is over
  }
}

resume_point loader_core::position() const {
  return {next_.epoch, next_.step, global_step_, sums_.digest};
}

attempt_start loader_core::attempt() const {
  attempt_start start{.world_size = options_.world_size,
                      .rank = options_.rank,
                      .records = plan_->shape.is_closed ? plan_->shape.items : 0,
                      .data_digest = data_digest_};
  if (is_resumed_ || next_ != job_position{}) // sought out, too
    start.resumed_at = {next_.epoch, next_.step};
  return start;
}

bool loader_core::can_snapshot() const noexcept {
  const auto& feeds = plan_->samples->feeds;
  return std::all_of(feeds.begin(), feeds.end(), [](const auto& x) { return x->has_journal(); });
}

snapshot loader_core::make_snapshot(pipeline_facts facts, const job_position& next,
                                    std::uint64_t global_step, const handed_over& sums,
                                    std::uint64_t began,
                                    const std::shared_ptr<const lane_states>& lanes) const {
  if (!can_snapshot())
    throw error(errc::invalid_argument, {.stage = "snapshot",
                                         .got = "records that exist once and are kept nowhere",
                                         .needed = "a journal: pipeline::spool, --spool DIR"});
  return {std::move(facts),
          next.epoch,
          next.step,
          global_step,
          options_.rank,
          options_.world_size,
          sums,
          began,
          lanes ? *lanes : lane_states{},
          left_out_.ranges(),
          records_->has_feeds() && plan_->layout ? plan_->layout->fields() : fields_.known};
}

snapshot loader_core::state() const {
  return make_snapshot(facts_, next_, global_step_, sums_, began_, lanes_);
}

std::string loader_core::encoded_state() const {
  return encode(make_snapshot({}, next_, global_step_, sums_, began_, nullptr), lanes_);
}

namespace {

job_position position_behind(const batch_slot& x) {
  return x.end_of_epoch ? job_position{x.epoch + 1, 0} : job_position{x.epoch, x.step + 1};
}

std::shared_ptr<const lane_states> lanes_behind(const batch_slot& x) {
  return x.end_of_epoch ? nullptr : x.lanes;
}

} // namespace

snapshot loader_core::state_after(const batch& x) const {
  return make_snapshot(facts_, position_behind(*x.slot_), x.global_step_ + 1, *x.sums_, x.began_,
                       lanes_behind(*x.slot_));
}

std::string loader_core::encoded_state_after(const batch& x) const {
  return encode(
      make_snapshot({}, position_behind(*x.slot_), x.global_step_ + 1, *x.sums_, x.began_, nullptr),
      lanes_behind(*x.slot_));
}

std::string loader_core::encode(const snapshot& x,
                                const std::shared_ptr<const lane_states>& lanes) const {
  return encode_(x, lanes ? *lanes : lane_states{});
}

/// Not behind begin(): it may fail.
void loader_core::start_checkpoint() {
  std::lock_guard lock{actors_mutex_};
  if (!system_)
    system_ = &shared_system();
  if (!checkpoint_)
    checkpoint_ = spawn_in_thread(*system_, "save", checkpoint, life_token{lives_});
}

void loader_core::save(const std::string& directory, snapshot part) {
  saves_->check();
  if (!inline_mode())
    start_checkpoint();
  saves_->begin();
  try {
    records_->saving(directory, {part.epoch, part.step}, part.lanes);
    save_request request{
        directory, std::make_shared<const snapshot>(std::move(part)), options_.keep, records_,
        [saves = saves_](std::optional<error> problem) { saves->end(std::move(problem)); }};
    if (inline_mode()) {
      store(request);
    } else {
      std::lock_guard lock{actors_mutex_};
      caf::anon_send(checkpoint_, std::move(request));
    }
  } catch (...) {
    saves_->end(error_in_flight(errc::io, {.stage = "save"}));
  }
  if (inline_mode())
    saves_->check();
}

void loader_core::wait_saved() {
  saves_->wait_for_all();
  saves_->check();
}

void loader_core::resize_workers(std::size_t workers) {
  if (inline_mode() || workers == 0 || workers > 4096)
    throw error(errc::invalid_argument,
                {.stage = "resize_workers",
                 .got = std::to_string(inline_mode() ? 0 : workers) + " workers",
                 .needed = inline_mode() ? "a loader made with workers" : "1 to 4096"});
  options_.workers = workers;
  if (has_started())
    caf::anon_send(actors_.dispatcher, resize_atom_v, std::uint64_t{workers});
}

loader_stats loader_core::stats() const {
  loader_stats result;
  for (const auto& x : board_.sums()) {
    result.workers.push_back(
        {result.workers.size(), x.rows_dealt, x.rows_done, x.busy, x.bytes_read});
    result.bytes_read += x.bytes_read;
  }
  result.workers_replaced = replaced_.load();
  result.batches = batches_;
  result.samples = samples_;
  result.waited = waited_;
  result.bad = sums_.bad;
  result.snapshot_bytes = can_snapshot() ? encoded_state().size() : 0;
  return result;
}

void loader_core::shutdown() noexcept {
  saves_->wait_for_all();
  plan_->cancelled->store(true);
  {
    std::lock_guard lock{actors_mutex_};
    if (!system_)
      return;
    if (actors_.batcher)
      send_exit(actors_);
    if (checkpoint_)
      caf::anon_send_exit(checkpoint_, caf::exit_reason::user_shutdown);
    checkpoint_ = nullptr;
  }
  const auto patience =
      options_.stuck_after.count() > 0 ? options_.stuck_after : std::chrono::hours{24};
  while (!lives_->wait_for_none(patience)) {
    const auto record = board_.busy_since_before(steady_ns());
    const auto call = calls_->running();
    notice(std::string{"loader: still waiting for its end: "}
           + (record ? stuck_error(*record).what()
              : call ? stuck_call(*call, "in the programs' thread", options_.stuck_after).what()
                     : "an actor that has not stopped"));
  }
  while (ready_.try_pop()) // slots of batches that nobody will fetch
    ;
  std::lock_guard lock{actors_mutex_};
  system_ = nullptr;
}

} // namespace leat
