#include "actors/loader_job.hpp"

#include "actors/actor_engine.hpp"
#include "actors/inline_engine.hpp"
#include "actors/loader_checks.hpp"
#include "actors/loader_statistics.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/patience.hpp"
#include "runtime/job/resume.hpp"
#include "runtime/job/starting_point.hpp"
#include "runtime/job/stating_order.hpp"
#include "runtime/order/lane_limit.hpp"
#include "runtime/pipeline/pipeline_facts.hpp"

#include <leat/notice.hpp>
#include <leat/patience.hpp>

#include <utility>

namespace leat {

namespace {

/// The failure of the next batch, whichever it is, belongs to no run.
bool is_of_earlier_run(const batch_slot& x, std::uint64_t run) noexcept {
  return x.run() != run && x.plan().epoch != UINT64_MAX;
}

std::string name_of_rank(const loader_options& x) {
  return "rank " + std::to_string(x.rank) + " of " + std::to_string(x.world_size);
}

/// The pipeline's plan, with what the options say.
std::shared_ptr<const job_plan> plan_for(job_plan plan, const loader_options& x) {
  plan.bad_samples = x.bad_samples;
  plan.hash_pixels = x.hash_pixels;
  plan.throw_at = x.fault.throw_at;
  return std::make_shared<const job_plan>(std::move(plan));
}

} // namespace

loader_job::loader_job(const pipeline& data, loader_options options, std::uint64_t loader)
    : loader_(loader), options_(std::move(options)),
      caller_(options_.stuck_after, options_.on_stuck),
      saves_(options_.workers > 0 ? host_function{[this]() -> actor_host& { return host(); }}
                                  : nullptr,
             metrics_) {
  const patience waits{options_.while_waiting};
  check_process();
  check_options(options_);
  if (!options_.runtime)
    options_.runtime = runtime::of_process();
  const auto& core = options_.runtime->core_;
  if (core->is_shut_down())
    refuse_after_shutdown();
  auto plan = plan_without_layout(data);
  const doing told{std::make_shared<worker_record>(), calls_};
  caller_.look_at(std::make_shared<const job_plan>(plan), told);
  plan.layout = learn_layout(plan, told);
  const auto limit = lane_limit(data.root());
  check_options(options_, plan, limit);
  // Once per job.
  if (limit && options_.rank == 0)
    notice("loader: " + *limit);
  const auto& shape = plan.shape;
  job_.rank = options_.rank;
  job_.world_size = options_.world_size;
  job_.epochs = options_.epochs;
  job_.steps = options_.steps;
  job_.facts = describe(data, shape.lanes);
  job_.encode = snapshot_encoder{job_.facts};
  job_.data_digest = leat::data_digest(data.root());
  job_.records = std::make_shared<journal_retention>(plan.samples->feeds, shape.lanes,
                                                     options_.rank, options_.world_size);
  job_.bad_log = bad_sample_log{options_.bad_sample_log};
  ends_.emplace(shape, options_.world_size, options_.agree);
  crew_ = std::make_shared<worker_crew>(options_.rank, options_.world_size, options_.fault);
  job_.plan = plan_for(std::move(plan), options_);
  samples_ = job_.plan->samples;
  count_up();
  cancelled_ = job_.plan->cancelled;
  stop_ = job_.plan->stop;
  const auto& stages = samples_->stage_names;
  if (options_.trace)
    metrics_->show_in(options_.trace, name_of_rank(options_), stages);
  crew_->measure(stages.size(), [to = metrics_](std::size_t x) { return to->tracing_of(x); });
  registration_ = runtime_core::add(core, *this);
}

loader_job::~loader_job() {
  registration_.leave();
}

actor_host& loader_job::host() const {
  return options_.runtime->core_->host();
}

void loader_job::check_runtime() const {
  if (is_shut_down_)
    refuse_after_shutdown();
}

void loader_job::meet(std::shared_ptr<job_peers> peers) {
  check_not_begun("cluster");
  peers_ = std::move(peers);
  if (!options_.agree)
    ends_.emplace(job_.plan->shape, options_.world_size, peers_);
}

void loader_job::fail(const error& problem) {
  check_runtime(); // whose end interrupts what runs
  failure_ = problem;
  throw error(problem);
}

void loader_job::check_not_begun(const char* stage) const {
  if (engine_)
    refuse_argument(stage, "a loader that has begun", "a new one");
}

resume_point loader_job::position() const {
  const auto& at = job_.at;
  return {at.next.epoch, at.next.step, at.global_step, at.sums.digest};
}

resume_point loader_job::restore(const std::vector<snapshot>& parts, bool complete,
                                 const restore_options& options) {
  check_not_begun("restore");
  resume(job_, parts, complete, options.allow);
  return resumed();
}

std::optional<resume_point> loader_job::restore(const std::string& path,
                                                const restore_options& options) {
  check_not_begun("restore");
  if (!resume(job_, path, options.allow, options.allow_older))
    return std::nullopt;
  return resumed();
}

void loader_job::restore_at(const std::string& directory, const job_position& place,
                            bool own_part_alone, const restore_options& options) {
  check_not_begun("restore");
  resume_at(job_, directory, place, own_part_alone, options.allow);
  (void)resumed();
}

resume_point loader_job::resumed() {
  ends_->begin_epoch();
  count_up();
  return position();
}

doing loader_job::look_after_caller() {
  doing told{std::make_shared<worker_record>(), calls_};
  caller_.look_at(job_.plan, told);
  if (job_.has_to_learn_fields()) {
    job_.learn_fields(told);
    caller_.look_at(job_.plan, told);
  }
  return told;
}

template <class Move>
void loader_job::run_through(const char* stage, Move move) {
  const patience waits{options_.while_waiting};
  const auto before = job_.at;
  try {
    move();
  } catch (const patience_ended& problem) {
    if (!samples_->feeds.empty())
      fail(problem); // records that were passed over are gone
    job_.at = before;
    ends_->begin_epoch();
    throw;
  } catch (...) { // the job's position is undefined
    fail(error_in_flight(errc::io, {.stage = stage}));
  }
}

void loader_job::seek(const job_position& to) {
  check_not_begun("seek");
  check_seek(job_, to);
  run_through("seek", [&] {
    leat::seek(job_, to, *ends_, [this] { return look_after_caller(); });
    count_up();
  });
}

void loader_job::skip_batches(std::uint64_t n) {
  check_not_begun("skip_first_batches");
  run_through("skip_first_batches",
              [&] { leat::skip_batches(job_, n, *ends_, [this] { return look_after_caller(); }); });
}

void loader_job::leave_out(const step_range& steps) {
  check_not_begun("leave_out_steps");
  job_.left_out.add(steps, job_.at.global_step);
}

void loader_job::set_weights(const weight_change& change) {
  const auto& plan = *job_.plan;
  const auto inputs = inputs_to_weigh("set_weights", *plan.samples, plan.shape);
  if (change.weights.size() != inputs)
    refuse_argument("set_weights", std::to_string(change.weights.size()) + " weights",
                    std::to_string(inputs) + ", one per input of the mix");
  if (failure_)
    throw error(*failure_);
  if (engine_ && !plan.samples->feeds.empty())
    refuse_argument("set_weights", "records that exist once, in a loader that has begun",
                    "a call before the first next()");
  const weight_phase phase{change.step, whole_weights(change.weights)};
  const bool is_new = job_.weights.add(phase, job_.at.global_step);
  count_up();
  if (!is_new || !engine_)
    return;
  desk_->change_weights(job_.weights.all());
  restart(as_restored(job_));
}

void loader_job::restart(rank_job from) {
  place_->set(std::move(from));
  ++run_;
  ended_ = false;
  saves_.set_unasked(false);
  if (!engine_)
    return;
  if (waiting_)
    engine_->recycle(std::exchange(waiting_, nullptr));
  engine_->rewind(run_);
}

void loader_job::start() {
  try {
    if (job_.has_to_learn_fields())
      (void)look_after_caller();
    job_.threads_ahead = options_.workers == automatic ? usable_cores() : options_.workers;
    place_->set(at_beginning(job_));
    auto order = restartable_order(job_, place_, calls_, run_);
    if (peers_ && ends_->is_needed())
      order = std::make_unique<stating_order>(std::move(order), peers_);
    engine_parts parts{job_.plan, std::move(order), job_.rows_per_batch(), crew_,
                       metrics_,  calls_,           options_.batch_memory};
    {
      const mutex_lock lock{engine_mutex_}; // a runtime that ends waits for it
      check_runtime();
      engine_ = make_engine(std::move(parts));
    }
    desk_ = std::make_shared<lease_desk>(engine_, job_, metrics_, home_, loader_);
  } catch (...) {
    const auto problem = error_in_flight(errc::io, {.stage = "loader"});
    check_runtime();
    if (problem.code() == errc::interrupted && !engine_)
      throw error(problem); // the fields are learned at the next call
    fail(problem);
  }
}

std::shared_ptr<batch_engine> loader_job::make_engine(engine_parts parts) {
  if (options_.workers == 0)
    return std::make_shared<inline_engine>(std::move(parts), caller_);
  caller_.look_away();
  auto options = options_;
  options.workers = number_of_workers();
  return std::make_shared<actor_engine>(host(), std::move(parts), options);
}

lease loader_job::next() {
  const patience waits{options_.while_waiting};
  if (failure_)
    throw error(*failure_);
  if (*cancelled_) {
    check_runtime();
    throw_interrupted();
  }
  saves_.check();
  auto found = ended_ || job_.is_over() ? lease{} : next_made();
  if (!found)
    saves_.set_unasked(true);
  return found;
}

lease loader_job::next_made() {
  if (!engine_)
    start();
  const auto leases = desk_->leases_out();
  check_leases(options_, leases);
  engine_->make_room(leases);
  try {
    return next_batch();
  } catch (const patience_ended&) {
    throw;
  } catch (...) { // no batch may be missing before one that is handed over
    fail(error_in_flight(errc::io, {.stage = "next"}));
  }
}

slot_ptr loader_job::next_slot() {
  return waiting_ ? std::exchange(waiting_, nullptr) : engine_->next();
}

void loader_job::wait_for_peers(slot_ptr& slot) {
  try {
    slot->set_end_of_epoch(ends_->settle(slot->plan(), job_.at));
    if (peers_ && slot->plan().what == batch_plan::kind::batch)
      peers_->wait_to_hand_over(job_.at.global_step);
  } catch (const patience_ended&) {
    waiting_ = std::move(slot); // it is asked for again
    throw;
  }
}

job_position loader_job::behind() {
  while (!handed_over_.empty() && handed_over_.front().progress.expired())
    handed_over_.pop_front();
  if (handed_over_.size() > 2 * options_.leases) // behind one that is held for long
    std::erase_if(handed_over_, [](const auto& x) { return x.progress.expired(); });
  return handed_over_.empty() ? job_.at.next : handed_over_.front().next;
}

lease loader_job::next_batch() {
  while (!job_.is_over()) {
    auto slot = next_slot();
    if (*cancelled_) // functions may have ended early
      throw_interrupted();
    if (is_of_earlier_run(*slot, run_)) {
      engine_->recycle(std::move(slot));
      continue;
    }
    if (slot->plan().what == batch_plan::kind::end) {
      ended_ = true;
      engine_->recycle(std::move(slot)); // more may come: see rewind
      return {};
    }
    // Earlier ones were made ahead, for an epoch that is over or was abandoned.
    if (slot->plan().epoch >= job_.at.next.epoch) {
      wait_for_peers(slot);
      if (slot->plan().what == batch_plan::kind::failed)
        throw error(*slot->plan().failure);
      if (!job_.left_out.contains(job_.at.global_step))
        return hand_over(std::move(slot));
      job_.pass(slot->plan());
      end_epoch(*slot);
    }
    engine_->recycle(std::move(slot));
  }
  return {};
}

/// Batches are made ahead from the next epoch on, if ranks had to agree that this one is over.
void loader_job::end_epoch(const batch_slot& slot) {
  if (!slot.plan().end_of_epoch || !ends_->is_needed())
    return;
  ends_->begin_epoch();
  engine_->begin_epoch(job_.at.next.epoch);
}

lease loader_job::hand_over(slot_ptr slot) {
  job_.hand_over(*slot);
  end_epoch(*slot);
  metrics_->batches.add(1);
  metrics_->samples.add(slot->summary().num_valid);
  count_up();
  if (automatic_)
    tune_workers();
  lease result;
  result.batch_.after_ = std::make_shared<const job_progress>(job_.at);
  if (peers_)
    handed_over_.push_back({result.batch_.after_, job_.at.next});
  slot->lend();
  result.batch_.slot_ = std::move(slot);
  result.batch_.desk_ = desk_;
  desk_->lend();
  return result;
}

void loader_job::abandon_epoch() {
  if (job_.plan->shape.is_endless())
    refuse_argument("abandon_epoch", "a pipeline of one endless epoch",
                    "batch() with end drop or mask");
  auto& at = job_.at;
  if (at.next.step == 0)
    return; // none of it was handed over: the epoch before has ended
  at.next = {at.next.epoch + 1, 0};
  at.lanes = nullptr;
  ends_->begin_epoch();
  if (engine_)
    engine_->begin_epoch(at.next.epoch);
}

void loader_job::rewind() {
  if (failure_)
    throw error(*failure_);
  if (!job_.plan->samples->feeds.empty())
    refuse_argument("rewind", "records that exist once", "data that can be read again");
  job_.rewind();
  count_up();
  ends_->begin_epoch();
  restart(job_);
}

/// The number requested, or the most that there may be until it is known how many are needed.
std::size_t loader_job::number_of_workers() {
  automatic_.reset();
  auto number = options_.workers;
  if (number == automatic)
    number = automatic_.emplace(core_shares::of_process()).number();
  metrics_->workers.set(number);
  return number;
}

void loader_job::tune_workers() {
  const auto found = automatic_->after_batch([this] {
    std::chrono::nanoseconds busy{0};
    for (const auto& x : crew_->board().sums())
      busy += x.busy;
    return std::pair{metrics_->waits.sum(), busy};
  });
  if (!found)
    return;
  metrics_->workers.set(*found);
  engine_->resize(*found);
}

void loader_job::resize_workers(std::size_t workers) {
  check_resize(options_, workers);
  options_.workers = workers;
  if (engine_)
    engine_->resize(number_of_workers());
}

void loader_job::save(const std::string& directory, snapshot part) {
  const patience waits{options_.while_waiting};
  saves_.save({.directory = directory,
               .part = std::make_shared<const snapshot>(std::move(part)),
               .keep = options_.keep},
              job_.records);
}

void loader_job::wait_saved() {
  const patience waits{options_.while_waiting};
  saves_.set_unasked(false);
  saves_.wait_for_all();
  saves_.check();
}

std::string loader_job::encoded() const {
  auto bytes = job_.encoded_at(job_.at);
  metrics_->snapshot_bytes.set(bytes.size());
  return bytes;
}

loader_stats loader_job::stats() const {
  auto stats = stats_of(*metrics_, crew_->board(), samples_->stage_names, samples_->num_sources,
                        crew_->replaced());
  const auto seen = metrics_->mixes();
  stats.mixes =
      mixes_of(job_.facts.root, seen.given, options_.world_size == 1, seen.step, seen.changes);
  return stats;
}

void loader_job::count_up() {
  for (std::size_t i = 0; i < num_causes; ++i)
    metrics_->bad[i].set(job_.at.sums.bad[i]);
  if (!samples_->mixes.empty())
    metrics_->set_mixes({job_.at.sums.given, job_.at.next.step, job_.weights.all()});
}

void loader_job::interrupt() noexcept {
  cancelled_->store(true);
  for (const auto& x : samples_->feeds)
    x->wake();
  const mutex_lock lock{engine_mutex_};
  if (engine_)
    engine_->interrupt();
}

void loader_job::ask_to_end() noexcept {
  is_shut_down_ = true;
  interrupt();
  stop_.request_stop();
}

void loader_job::end() noexcept {
  saves_.end();
  cancelled_->store(true);
  stop_.request_stop();
  std::shared_ptr<batch_engine> engine;
  {
    const mutex_lock lock{engine_mutex_};
    engine = engine_;
  }
  if (engine && !engine->shutdown())
    is_abandoned_ = true;
  caller_.end();
}

} // namespace leat
