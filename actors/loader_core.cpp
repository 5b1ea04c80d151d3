#include "actors/loader_core.hpp"

#include "actors/runtime_system.hpp"
#include "runtime/pipeline_facts.hpp"
#include "runtime/snapshot_store.hpp"

#include <leat/notice.hpp>

#include <caf/send.hpp>

#include <algorithm>
#include <chrono>
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
  if (x.workers > 4096)
    refuse("workers", std::to_string(x.workers), "at most 4096");
  if (x.workers == 0 && x.fault.dying_worker)
    refuse("fault.dying_worker", "0 workers", "a worker that can die");
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
    : options_(std::move(options)), bad_log_(options_.bad_sample_log) {
  validate(options_);
  auto plan = plan_rows(data);
  plan.bad_samples = options_.bad_samples;
  plan.hash_pixels = options_.hash_pixels;
  plan.throw_at = options_.fault.throw_at;
  plan_ = std::make_shared<const row_plan>(std::move(plan));
  facts_ = describe(data, plan_->shape.lanes);
  batches_per_epoch_ = plan_->shape.batches();
  rows_per_batch_ =
      dealer{plan_->shape, options_.rank, options_.world_size, 0, {}, {}}.rows_per_batch();
  ahead_ = prefetch_depth();
}

loader_core::~loader_core() {
  shutdown();
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

void loader_core::start() {
  dealer order{plan_->shape,    options_.rank,     options_.world_size,
               options_.epochs, options_.dispatch, next_};
  if (inline_mode()) {
    auto config = make_worker(0, false);
    self_worker_.emplace();
    self_worker_->record = config.record;
    self_worker_->drill = config.drill;
    self_worker_->function.emplace(plan_, config.record);
    order_.emplace(order);
    return;
  }
  dispatcher_config config{
      order, options_.workers,
      [this](std::size_t number, bool replaces) { return make_worker(number, replaces); }, true,
      lives_};
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
  if (fault.slow_worker == number)
    config.drill.slow_by = fault.slow_by;
  if (replaces)
    replaced_.fetch_add(1);
  else if (fault.dying_worker == number && fault.die_at % options_.world_size == options_.rank)
    config.drill.die_at = fault.die_at;
  return config;
}

void loader_core::add_slot() {
  auto slot = std::make_shared<batch_slot>(plan_->layout, rows_per_batch_);
  ++slots_;
  if (inline_mode())
    free_.push_back(std::move(slot));
  else
    caf::anon_send(actors_.batcher, free_atom_v, std::move(slot));
}

lease loader_core::next() {
  if (failure_)
    throw error(*failure_);
  saves_->check();
  if (ended_)
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
  auto slot = inline_mode() ? run_inline() : wait_for_slot();
  switch (slot->what) {
  case batch_slot::kind::end:
    ended_ = true;
    return {};
  case batch_slot::kind::failed:
    fail(*slot->failure);
  case batch_slot::kind::batch:
    break;
  }
  return hand_over(std::move(slot));
}

slot_ptr loader_core::run_inline() {
  slot_ptr slot;
  {
    std::lock_guard lock{free_mutex_};
    slot = std::move(free_.back());
    free_.pop_back();
  }
  order_->open(*slot);
  for (std::size_t row = 0; row < slot->num_rows; ++row) {
    self_worker_->record->rows_dealt.fetch_add(1, std::memory_order_relaxed);
    self_worker_->run(*slot, row);
  }
  self_worker_->rest();
  slot->close();
  return slot;
}

slot_ptr loader_core::wait_for_slot() {
  if (auto slot = ready_.try_pop())
    return std::move(*slot);
  const auto begin = steady_clock::now();
  const auto limit = options_.stuck_after;
  for (;;) {
    // Workers may be idle and the batch still on its way: then there is nobody to name.
    const auto patience = limit.count() > 0 ? limit : std::chrono::hours{24};
    const auto oldest =
        steady_clock::time_point{std::chrono::nanoseconds{board_.oldest_start_ns()}};
    auto slot = ready_.pop_until(oldest + patience);
    if (slot) {
      waited_ += steady_clock::now() - begin;
      return std::move(*slot);
    }
    const auto before = steady_ns() - std::chrono::nanoseconds{limit}.count();
    if (auto record = limit.count() > 0 ? board_.busy_since_before(before) : nullptr)
      fail(stuck_error(*record));
  }
}

lease loader_core::hand_over(slot_ptr slot) {
  // First: a batch that cannot be logged is not handed over, nor is any after it.
  try {
    bad_log_.append(slot->epoch, slot->step, options_.rank, slot->bad);
  } catch (const error& problem) {
    fail(problem);
  }
  if (slot->step == 0)
    sums_.epoch_digest = {};
  sums_.digest += slot->digest;
  sums_.epoch_digest += slot->digest;
  sums_.samples += slot->num_valid;
  for (const auto& x : slot->bad)
    ++sums_.bad[static_cast<std::size_t>(x.why)];
  next_ = slot->end_of_epoch ? job_position{slot->epoch + 1, 0}
                             : job_position{slot->epoch, slot->step + 1};
  ++batches_;
  samples_ += slot->num_valid;
  leases_out_.fetch_add(1);
  lease result;
  result.batch_.core_ = shared_from_this();
  result.batch_.slot_ = std::move(slot);
  result.batch_.sums_ = std::make_shared<const handed_over>(sums_);
  result.batch_.global_step_ = global_step_++;
  return result;
}

void loader_core::fail(const error& problem) {
  failure_ = problem;
  throw error(problem);
}

error loader_core::stuck_error(const worker_record& record) const {
  const auto stage = record.stage.load();
  return {
      errc::stuck,
      {.stage = stage < plan_->samples->num_sources ? "read" : plan_->samples->stage_names[stage],
       .sample = id_of(record.epoch.load(), record.item.load()),
       .got = "no return on worker " + std::to_string(record.number),
       .needed = "one within " + std::to_string(options_.stuck_after.count()) + " ms"}};
}

std::string loader_core::id_of(std::uint64_t epoch, std::uint64_t item) const {
  std::string id;
  order_cache orders{plan_->samples->num_shuffles};
  plan_->samples->items->append_id({.item = item, .epoch = epoch}, orders, id);
  return id;
}

void loader_core::give_back(slot_ptr slot) noexcept {
  if (inline_mode()) {
    std::lock_guard lock{free_mutex_};
    free_.push_back(std::move(slot));
  } else {
    std::lock_guard lock{actors_mutex_};
    if (actors_.batcher)
      caf::anon_send(actors_.batcher, free_atom_v, std::move(slot));
  }
  // Last: once the lease counts as ended, next() relies on its slot.
  leases_out_.fetch_sub(1);
}

resume_point loader_core::restore(const std::vector<snapshot>& parts, bool complete,
                                  const restore_options& options) {
  check_not_begun("restore");
  auto merged = merge(parts, complete);
  check(merged, facts_, options.allow);
  next_ = {merged.epoch, step_for(merged, facts_)};
  if (next_.step >= batches_per_epoch_) // under an allowed other batch size
    next_ = {next_.epoch + 1, 0};
  global_step_ = merged.global_step;
  // Each rank may hold its own part of the same world; else rank 0 takes over the sums of all.
  const bool own = parts.size() == 1 && parts[0].world_size == options_.world_size
                   && parts[0].rank == options_.rank;
  if (own)
    sums_ = parts[0].sums;
  else
    sums_ = options_.rank == 0 ? merged.sums : handed_over{};
  began_ = own ? parts[0].began : merged.global_step;
  bad_log_.cut(next_.epoch, next_.step);
  return {next_.epoch, next_.step, global_step_, sums_.digest};
}

std::optional<resume_point> loader_core::restore(const std::string& directory,
                                                 const restore_options& options) {
  auto found = snapshot_store{directory}.newest(options.allow_older);
  if (!found) {
    bad_log_.cut(0, 0); // begins again
    return std::nullopt;
  }
  for (const auto& text : found->skipped)
    notice("snapshot: " + directory + ": skipped " + text);
  return restore(found->parts, true, options);
}

void loader_core::check_not_begun(const char* stage) const {
  if (has_started())
    throw error(errc::invalid_argument,
                {.stage = stage, .got = "a loader that has begun", .needed = "a new one"});
}

void loader_core::seek(const job_position& to) {
  check_not_begun("seek");
  std::uint64_t before = 0;
  if (to.step >= batches_per_epoch_
      || __builtin_mul_overflow(to.epoch, batches_per_epoch_, &before))
    throw error(errc::invalid_argument,
                {.stage = "seek",
                 .got = "epoch " + std::to_string(to.epoch) + " step " + std::to_string(to.step),
                 .needed = "a step below " + std::to_string(batches_per_epoch_)
                           + " of an epoch that can be counted to"});
  next_ = to;
  global_step_ = before + to.step;
  began_ = global_step_;
  sums_ = {};
  bad_log_.cut(next_.epoch, next_.step);
}

void loader_core::skip_first_batches(std::uint64_t n) {
  check_not_begun("skip_first_batches");
  std::uint64_t step = 0;
  if (__builtin_add_overflow(next_.step, n, &step)
      || __builtin_add_overflow(global_step_, n, &global_step_))
    throw error(errc::invalid_argument, {.stage = "skip_first_batches",
                                         .got = std::to_string(n) + " batches",
                                         .needed = "a job that can be counted to its end"});
  if (step >= batches_per_epoch_)
    sums_.epoch_digest = {};
  next_ = {next_.epoch + step / batches_per_epoch_, step % batches_per_epoch_};
}

snapshot loader_core::make_snapshot(const job_position& next, std::uint64_t global_step,
                                    const handed_over& sums) const {
  return {facts_,        next.epoch,          next.step, global_step,
          options_.rank, options_.world_size, sums,      began_};
}

snapshot loader_core::state() const {
  return make_snapshot(next_, global_step_, sums_);
}

snapshot loader_core::state_after(const batch& x) const {
  const auto& slot = *x.slot_;
  auto next =
      slot.end_of_epoch ? job_position{slot.epoch + 1, 0} : job_position{slot.epoch, slot.step + 1};
  return make_snapshot(next, x.global_step_ + 1, *x.sums_);
}

void loader_core::save(const std::string& directory, snapshot part) {
  saves_->check();
  saves_->begin();
  save_request request{
      directory, std::make_shared<const snapshot>(std::move(part)), options_.keep,
      [saves = saves_](std::optional<error> problem) { saves->end(std::move(problem)); }};
  if (inline_mode()) {
    store(request);
    return saves_->check();
  }
  std::lock_guard lock{actors_mutex_};
  if (!system_)
    system_ = &shared_system();
  if (!checkpoint_)
    checkpoint_ = system_->spawn<caf::detached>(checkpoint, life_token{lives_});
  caf::anon_send(checkpoint_, std::move(request));
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
  for (const auto& x : board_.all()) {
    result.workers.push_back({x->number, x->rows_dealt.load(), x->rows_done.load(),
                              std::chrono::nanoseconds{x->busy_ns.load()}, x->bytes_read.load()});
    result.bytes_read += x->bytes_read.load();
  }
  result.workers_replaced = replaced_.load();
  result.batches = batches_;
  result.samples = samples_;
  result.waited = waited_;
  result.bad = sums_.bad;
  result.snapshot_bytes = encode(state()).size();
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
    auto record = board_.busy_since_before(steady_ns());
    notice(std::string{"loader: still waiting for its end: "}
           + (record ? stuck_error(*record).what() : "an actor that has not stopped"));
  }
  while (ready_.try_pop()) // slots of batches that nobody will fetch
    ;
  std::lock_guard lock{actors_mutex_};
  system_ = nullptr;
}

} // namespace leat
