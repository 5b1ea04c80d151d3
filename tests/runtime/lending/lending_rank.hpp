#pragma once

#include "runtime/base/threads/mutex.hpp"
#include "runtime/lending/lent_job.hpp"
#include "runtime/lending/row_lender.hpp"
#include "runtime/pipeline/pipeline_facts.hpp"
#include "runtime/rows/row_assignment.hpp"
#include "runtime/rows/row_worker.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/test.hpp"

namespace leat::test {

/// A rank without actors: opens batches, makes rows in threads of its own, and lends them.
class lending_rank {
public:
  lending_rank(
      const pipeline& data, std::shared_ptr<job_plan> plan, guard_config guard, std::size_t workers,
      const lender_settings& settings = {.budget = 1 << 20, .row_bytes = 300},
      std::function<void(const std::string&)> log = [](const std::string&) {})
      : plan_(std::move(plan)), order_(order_of_rank(*plan_, epochs)) {
    lender_ = std::make_unique<row_lender>(row_lender_config{
        .guard = std::move(guard),
        .settings = settings,
        .job = encode(lent_job_of(data, describe(data, plan_->shape.lanes), *plan_)),
        .plan = plan_,
        .data = can_send_records(data) ? std::optional{data} : std::nullopt,
        .log = std::move(log)});
    for (std::size_t i = 0; i < 4; ++i)
      free_.push_back(std::make_shared<batch_slot>(plan_->layout, rows_of_rank(*plan_)));
    lender_->begin({.completed = [this](bool) { news(); },
                    .deal = [this](chunk x) { give(std::move(x)); },
                    .failed = [](const error&) { std::terminate(); }});
    for (std::size_t i = 0; i < workers; ++i)
      workers_.emplace_back([this, i] { work(static_cast<std::uint32_t>(i)); });
  }
  ~lending_rank() {
    lender_->end(std::chrono::steady_clock::now() + std::chrono::minutes{1});
    {
      const mutex_lock lock{mutex_};
      is_over_ = true;
      changed_.notify_all();
    }
    for (auto& x : workers_)
      x.join();
  }

  std::uint16_t port() const { return lender_->port(); }
  row_lender_stats stats() const { return lender_->stats(); }

  /// The next batch; nothing at the job's end.
  std::optional<finished_batch> next() {
    open();
    if (batches_.empty())
      return std::nullopt;
    const auto slot = batches_.front();
    batches_.pop_front();
    {
      const mutex_lock lock{mutex_};
      while (!slot->complete())
        changed_.wait(mutex_);
    }
    slot->close();
    auto x = finished(*slot);
    slot->release();
    free_.push_back(slot);
    return x;
  }

  static constexpr std::uint64_t epochs = 2;

private:
  void news() {
    const mutex_lock lock{mutex_};
    changed_.notify_all();
  }
  void give(chunk x) {
    const mutex_lock lock{mutex_};
    (x.are_lent ? urgent_ : work_).push_back(std::move(x));
    changed_.notify_all();
  }

  void open() {
    while (!free_.empty() && !has_ended_) {
      auto slot = free_.front();
      REQUIRE(order_->open(next_));
      has_ended_ = next_.plan.what == batch_plan::kind::end;
      if (has_ended_)
        return;
      free_.pop_front();
      slot->open(next_, true);
      batches_.push_back(slot);
      auto work = chunk_of(slot);
      work.claims = true;
      for (std::size_t i = 0; i < workers_.size(); ++i)
        give(work);
      lender_->opened(slot);
    }
  }

  void work(std::uint32_t number) {
    row_worker rows;
    rows.plan = plan_;
    rows.record = std::make_shared<worker_record>();
    rows.record->id = number;
    rows.function.emplace(plan_, rows.record);
    mutex_lock lock{mutex_};
    while (!is_over_) {
      auto& from = urgent_.empty() ? work_ : urgent_;
      if (from.empty()) {
        changed_.wait(mutex_);
        continue;
      }
      const auto x = std::move(from.front());
      from.pop_front();
      lock.unlock();
      const auto found = rows.run(x);
      lock.lock();
      if (found == row_worker::verdict::complete)
        changed_.notify_all();
    }
  }

  std::shared_ptr<job_plan> plan_;
  std::unique_ptr<batch_order> order_;
  std::unique_ptr<row_lender> lender_;
  planned_batch next_;
  std::deque<std::shared_ptr<batch_slot>> free_;
  std::deque<std::shared_ptr<batch_slot>> batches_;
  bool has_ended_ = false;
  mutex mutex_;
  condition_variable changed_;
  std::deque<chunk> work_;
  std::deque<chunk> urgent_;
  bool is_over_ = false;
  std::vector<std::thread> workers_;
};

} // namespace leat::test
