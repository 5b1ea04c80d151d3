#include "actors/loader_job.hpp"

#include "actors/loader_checks.hpp"
#include "actors/loader_statistics.hpp"
#include "actors/make_lender.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/patience.hpp"
#include "runtime/order/lane_limit.hpp"
#include "runtime/pipeline/pipeline_facts.hpp"
#include "runtime/rows/expecting_order.hpp"
#include "runtime/rows/inline_order.hpp"

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

loader_options checked(loader_options x) {
  check_process();
  check_options(x);
  return x;
}

} // namespace

loader_job::loader_job(const pipeline& data, loader_options options, const loader_mark& loader)
    : data_(data), loader_(loader), options_(checked(std::move(options))), engine_(options_) {
  const patience waits{options_.while_waiting};
  auto plan = plan_without_layout(data);
  const doing told{std::make_shared<worker_record>(), calls_};
  engine_.caller().look_at(std::make_shared<const job_plan>(plan), told);
  // A rank of an elastic job does not know yet which one it is.
  if (plan.shape.is_indexed && !(options_.cluster && options_.cluster->is_elastic()))
    expect_first_rows(plan, options_.rank, options_.world_size);
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
  plan.bad_samples = options_.bad_samples;
  plan.hash_pixels = options_.hash_pixels;
  if (options_.fault)
    plan.throw_at = options_.fault->throw_at;
  job_.plan = std::make_shared<const job_plan>(std::move(plan));
  count_up();
  const auto& stages = job_.plan->samples->stage_names;
  const auto& metrics = engine_.metrics();
  if (options_.trace)
    metrics->show_in(options_.trace, name_of_rank(options_), stages);
  engine_.crew()->measure(stages.size(),
                          [metrics](std::size_t x) { return metrics->tracing_of(x); });
  engine_.join(job_.plan);
}

loader_job::~loader_job() {
  engine_.leave();
}

void loader_job::meet(std::shared_ptr<job_peers> peers) {
  (void)job_to_begin("cluster");
  peers_ = std::move(peers);
  if (!options_.agree)
    ends_.emplace(job_.plan->shape, options_.world_size, peers_);
}

void loader_job::fail(const error& problem) {
  engine_.check_runtime(); // a runtime that ends interrupts what runs
  failure_ = problem;
  throw error(problem);
}

rank_job& loader_job::job_to_begin(const char* stage) {
  if (engine_.get())
    refuse_argument(stage, "a loader that has begun", "a new one");
  return job_;
}

std::optional<resume_point> loader_job::restore(const std::function<bool(rank_job&)>& how) {
  if (!how(job_to_begin("restore")))
    return std::nullopt;
  ends_->begin_epoch();
  count_up();
  return job_.position();
}

doing loader_job::look_after_caller() {
  doing told{std::make_shared<worker_record>(), calls_};
  engine_.caller().look_at(job_.plan, told);
  if (job_.has_to_learn_fields()) {
    job_.learn_fields(told);
    engine_.caller().look_at(job_.plan, told);
  }
  return told;
}

void loader_job::move(const char* stage, const job_move& how) {
  (void)job_to_begin(stage);
  const patience waits{options_.while_waiting};
  const auto before = job_.at;
  try {
    how(job_, *ends_, [this] { return look_after_caller(); });
    count_up();
  } catch (const patience_ended& problem) {
    if (job_.records->has_feeds())
      fail(problem); // records that were passed over are gone
    job_.at = before;
    ends_->begin_epoch();
    throw;
  } catch (...) { // the job's position is undefined
    fail(error_in_flight(errc::io, {.stage = stage}));
  }
}

void loader_job::set_weights(const weight_change& change) {
  if (failure_)
    throw error(*failure_);
  const bool is_new = job_.change_weights(change, desk_ != nullptr);
  count_up();
  if (!is_new || !desk_)
    return;
  desk_->change_weights(job_.weights.all());
  restart(as_restored(job_));
}

void loader_job::restart(rank_job from) {
  place_->set(std::move(from));
  ++run_;
  ended_ = false;
  engine_.saves().set_unasked(false);
  const auto& engine = engine_.get();
  if (!engine)
    return;
  if (waiting_)
    engine->recycle(std::exchange(waiting_, nullptr));
  engine->rewind(run_);
}

void loader_job::start() {
  try {
    if (job_.has_to_learn_fields())
      (void)look_after_caller();
    job_.threads_ahead = options_.workers == automatic ? usable_cores() : options_.workers;
    auto beginning = job_;
    beginning.at = {};
    place_->set(std::move(beginning));
    auto order =
        std::make_unique<job_order>(job_, run_, place_, options_.workers > 0 ? nullptr : calls_,
                                    ends_->is_needed() ? peers_ : nullptr);
    const auto [lender, address] = make_lender(data_, job_, options_);
    {
      const mutex_lock lock{lender_mutex_};
      lender_ = lender;
      workers_at_ = address;
    }
    engine_.begin({job_.plan,
                   std::move(order),
                   job_.rows_per_batch(),
                   engine_.crew(),
                   engine_.metrics(),
                   calls_,
                   {options_.batch_memory, {}},
                   true,
                   lender},
                  options_);
    desk_ = std::make_shared<lease_desk>(engine_.get(), job_, engine_.metrics(), loader_);
  } catch (...) {
    const auto problem = error_in_flight(errc::io, {.stage = "loader"});
    engine_.check_runtime();
    if (problem.code() == errc::interrupted && !engine_.get())
      throw; // as patience_ended, where it is that; the fields are learned at the next call
    fail(problem);
  }
}

lease loader_job::next() {
  const patience waits{options_.while_waiting};
  if (failure_)
    throw error(*failure_);
  if (*engine_.plan().cancelled) {
    engine_.check_runtime();
    throw_interrupted();
  }
  engine_.saves().check();
  auto found = ended_ || job_.is_over() ? lease{} : next_made();
  if (!found)
    engine_.saves().set_unasked(true);
  return found;
}

lease loader_job::next_made() {
  if (!desk_)
    start();
  const auto leases = desk_->leases_out();
  check_leases(options_, leases);
  engine_.get()->make_room(leases);
  try {
    return next_batch();
  } catch (const patience_ended&) {
    throw;
  } catch (...) { // no batch may be missing before one that is handed over
    fail(error_in_flight(errc::io, {.stage = "next"}));
  }
}

void loader_job::wait_for_peers(slot_ptr& slot) {
  try {
    slot->set_end_of_epoch(ends_->settle(slot->plan(), job_.at));
    if (peers_ && slot->plan().what == batch_plan::kind::batch)
      peers_->wait_to_hand_over(job_.at.global_step);
  } catch (const patience_ended&) {
    waiting_ = std::move(slot); // the next call continues with it
    throw;
  }
}

lease loader_job::next_batch() {
  const auto& engine = engine_.get();
  while (!job_.is_over()) {
    auto slot = waiting_ ? std::exchange(waiting_, nullptr) : engine->next();
    if (*engine_.plan().cancelled) // functions may have ended early
      throw_interrupted();
    if (is_of_earlier_run(*slot, run_)) {
      engine->recycle(std::move(slot));
      continue;
    }
    if (slot->plan().what == batch_plan::kind::end) {
      ended_ = true;
      engine->recycle(std::move(slot)); // more may come: see rewind
      return {};
    }
    // Batches of earlier epochs were made ahead, for an epoch that is over or was abandoned.
    if (slot->plan().epoch >= job_.at.next.epoch) {
      wait_for_peers(slot);
      if (slot->plan().what == batch_plan::kind::failed)
        throw error(*slot->plan().failure);
      if (!job_.left_out.contains(job_.at.global_step))
        return hand_over(std::move(slot));
      job_.pass(slot->plan());
      end_epoch(*slot);
    }
    engine->recycle(std::move(slot));
  }
  return {};
}

/// If ranks had to agree that the epoch is over, has batches made ahead from the next one on.
void loader_job::end_epoch(const batch_slot& slot) {
  if (!slot.plan().end_of_epoch || !ends_->is_needed())
    return;
  ends_->begin_epoch();
  engine_.get()->begin_epoch(job_.at.next.epoch);
}

lease loader_job::hand_over(slot_ptr slot) {
  job_.hand_over(*slot);
  end_epoch(*slot);
  auto& metrics = *engine_.metrics();
  metrics.batches.add(1);
  metrics.samples.add(slot->summary().num_valid);
  count_up();
  engine_.tune_workers();
  lease result;
  result.batch_.after_ = std::make_shared<const job_progress>(job_.at);
  slot->lend();
  if (slot->on_device() && !slot->on_device()->lend())
    metrics.device.waits.add(1);
  result.batch_.slot_ = std::move(slot);
  result.batch_.desk_ = desk_;
  desk_->lend();
  return result;
}

void loader_job::abandon_epoch() {
  if (!job_.abandon_epoch())
    return;
  ends_->begin_epoch();
  if (const auto& engine = engine_.get())
    engine->begin_epoch(job_.at.next.epoch);
}

void loader_job::rewind() {
  if (failure_)
    throw error(*failure_);
  job_.rewind();
  count_up();
  ends_->begin_epoch();
  restart(job_);
}

void loader_job::resize_workers(std::size_t workers) {
  check_resize(options_, workers);
  options_.workers = workers;
  engine_.resize(workers);
}

void loader_job::save(const std::string& directory, snapshot part) {
  const patience waits{options_.while_waiting};
  engine_.saves().save({.directory = directory,
                        .part = std::make_shared<const snapshot>(std::move(part)),
                        .keep = options_.keep},
                       job_.records);
}

void loader_job::wait_saved() {
  const patience waits{options_.while_waiting};
  auto& saves = engine_.saves();
  saves.set_unasked(false);
  saves.wait_for_all();
  saves.check();
}

std::string loader_job::encoded() const {
  auto bytes = job_.encoded_at(job_.at);
  engine_.metrics()->snapshot_bytes.set(bytes.size());
  return bytes;
}

loader_stats loader_job::stats() const {
  const auto& metrics = *engine_.metrics();
  auto stats = stats_of(metrics, *engine_.crew(), *engine_.plan().samples);
  const auto seen = metrics.mixes();
  stats.mixes =
      mixes_of(job_.facts.root, seen.given, options_.world_size == 1, seen.step, seen.changes);
  const mutex_lock lock{lender_mutex_};
  if (lender_)
    stats.helped = stats_of(*lender_);
  return stats;
}

maker_note loader_job::makers() const {
  const mutex_lock lock{lender_mutex_};
  return {.workers_at = workers_at_,
          .workers = engine_.metrics()->workers.get(),
          .helper_cores = lender_ ? stats_of(*lender_).cores : 0};
}

void loader_job::count_up() {
  auto& metrics = *engine_.metrics();
  for (std::size_t i = 0; i < num_causes; ++i)
    metrics.bad[i].set(job_.at.sums.bad[i]);
  if (!job_.plan->samples->mixes.empty())
    metrics.set_mixes({job_.at.sums.given, job_.at.next.step, job_.weights.all()});
}

} // namespace leat
