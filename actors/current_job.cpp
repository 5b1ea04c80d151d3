#include "actors/current_job.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <cstdint>
#include <utility>

namespace leat {

namespace {

std::uint64_t next_number() noexcept {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

} // namespace

current_job::current_job(const pipeline& data) : mark_{.number = next_number()}, data_(data) {}

loader_job& current_job::get() const {
  if (!job_)
    throw_error(errc::interrupted, "cluster", "a loader that waits for its ranks to begin anew",
                "next(), which waits for them");
  return *job_;
}

void current_job::make(const loader_options& options) {
  end(); // before another one reads the same records
  auto job = std::make_shared<loader_job>(data_, options, mark_);
  for (const auto& x : left_out_)
    job->job_to_begin("leave_out_steps").leave_out(x);
  for (const auto& x : weights_)
    job->set_weights(x);
  replace(std::move(job));
}

void current_job::replace(std::shared_ptr<loader_job> by) noexcept {
  {
    const mutex_lock lock{mutex_};
    job_.swap(by);
  }
  if (by) {
    auto& engine = by->engine();
    engine.leave(std::move(by));
  }
  if (is_interrupted_ && job_)
    job_->engine().interrupt(); // the call did not find this one
}

void current_job::leave_out(const step_range& steps) {
  get().job_to_begin("leave_out_steps").leave_out(steps);
  left_out_.push_back(steps);
}

void current_job::set_weights(const weight_change& x) {
  get().set_weights(x);
  weights_.push_back(x);
}

void current_job::check_runtime() const {
  if (job_)
    job_->engine().check_runtime();
}

bool current_job::is_interrupted() const noexcept {
  return is_interrupted_ || (job_ && job_->engine().is_asked_to_end());
}

std::shared_ptr<loader_job> current_job::shared() const {
  const mutex_lock lock{mutex_};
  return job_;
}

loader_stats current_job::stats() const {
  const auto job = shared();
  return job ? job->stats() : loader_stats{};
}

void current_job::interrupt() noexcept {
  is_interrupted_ = true;
  if (const auto job = shared())
    job->engine().interrupt();
}

} // namespace leat
