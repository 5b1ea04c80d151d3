#include "demos/command/training_job.hpp"

#include "demos/command/log_line.hpp"
#include "runtime/sequence.hpp"
#include "runtime/snapshot_store.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace leat::command {

training_job::training_job(const pipeline& data, training_settings settings)
    : settings_(std::move(settings)) {
  auto options = settings_.loader;
  for (std::uint64_t i = 0; i < settings_.ranks; ++i, ++options.rank)
    loaders_.emplace_back(data, options);
  begin();
  open_log(data);
}

/// Moves all loaders to where the job goes on.
void training_job::begin() {
  if (settings_.resume)
    restore();
  if (!resumed_at_ && settings_.first_epoch != 0)
    for (auto& x : loaders_)
      x.seek(settings_.first_epoch, 0);
  auto here = state();
  progress_.epoch = here.epoch;
  progress_.step = here.step;
  progress_.global_step = here.global_step;
  progress_.total_steps =
      std::min(settings_.steps, loaders_.front().batches_per_epoch() * settings_.loader.epochs);
  saved_ = here.global_step;
}

/// Reads the set once, for all loaders.
void training_job::restore() {
  auto found = snapshot_store{settings_.snapshot_dir}.newest(settings_.restore.allow_older);
  if (!found) {
    for (auto& x : loaders_)
      x.restore(settings_.snapshot_dir, settings_.restore);
    return;
  }
  skipped_ = found->skipped;
  std::vector<std::string> parts;
  for (const auto& x : found->parts)
    parts.push_back(encode(x));
  for (auto& x : loaders_)
    resumed_at_ = x.restore_parts(parts, settings_.restore);
}

void training_job::open_log(const pipeline& data) {
  if (settings_.log.empty())
    return;
  attempt_start start{.world_size = settings_.loader.world_size,
                      .records = data.size(),
                      .data_digest = data_digest(data.root())};
  if (settings_.ranks < settings_.loader.world_size)
    start.rank = settings_.loader.rank;
  if (resumed_at_)
    start.resumed_at = {resumed_at_->epoch, resumed_at_->step};
  log_.emplace(settings_.log);
  log_->append(to_json(start));
}

void training_job::run(const std::function<void(const training_progress&)>& watch) {
  auto start = clock::now();
  while (!finished() && hand_over()) {
    if (settings_.step_time.count() > 0)
      std::this_thread::sleep_for(settings_.step_time);
    save_if_due();
    leases_.clear();
    progress_.elapsed = clock::now() - start;
    watch(progress_);
  }
  if (!settings_.snapshot_dir.empty() && saved_ != progress_.global_step)
    save();
  for (auto& x : loaders_)
    x.wait_saved();
  progress_.elapsed = clock::now() - start;
}

std::vector<loader_stats> training_job::stats() const {
  std::vector<loader_stats> result;
  for (const auto& x : loaders_)
    result.push_back(x.stats());
  return result;
}

snapshot training_job::state() const {
  std::vector<snapshot> parts;
  for (const auto& x : loaders_)
    parts.push_back(decode(x.snapshot(), "this process's snapshot"));
  return merge(parts, false);
}

void training_job::resize_if_due() {
  const auto& resizes = settings_.resizes;
  for (; next_resize_ < resizes.size() && resizes[next_resize_].step <= progress_.global_step;
       ++next_resize_)
    for (auto& x : loaders_)
      x.resize_workers(resizes[next_resize_].workers);
}

/// Gives every rank its part of the next step. False behind the last one.
bool training_job::hand_over() {
  resize_if_due();
  for (std::uint64_t i = 0; i < loaders_.size(); ++i) {
    auto asked = clock::now();
    auto part = loaders_[i].next();
    progress_.waited += clock::now() - asked;
    if (!part)
      return false;
    if (log_)
      log_->append(to_json(line_of(*part, settings_.loader.rank + i, settings_.loader.world_size)));
    progress_.samples += part->valid_rows();
    leases_.push_back(std::move(part));
  }
  if (!progress_.first_batch)
    progress_.first_batch = clock::now() - constructed_;
  advance(*leases_.front());
  return true;
}

void training_job::advance(const batch& x) {
  progress_.epoch = x.end_of_epoch() ? x.epoch() + 1 : x.epoch();
  progress_.step = x.end_of_epoch() ? 0 : x.step() + 1;
  progress_.global_step = x.global_step() + 1;
}

void training_job::save_if_due() {
  if (!settings_.snapshot_dir.empty() && progress_.global_step % settings_.snapshot_every == 0)
    save();
}

/// Behind the step that all ranks have.
void training_job::save() {
  for (auto& x : loaders_)
    x.save(settings_.snapshot_dir);
  saved_ = progress_.global_step;
}

} // namespace leat::command
