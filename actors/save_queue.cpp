#include "actors/save_queue.hpp"

#include "actors/pipeline.hpp"
#include "actors/runtime_core.hpp"
#include "runtime/base/exception_text.hpp"

#include <leat/notice.hpp>

#include <caf/send.hpp>

#include <chrono>
#include <utility>

namespace leat {

void save_queue::tracker::begin() {
  mutex_lock lock{mutex_};
  while (on_their_way_ >= 2)
    changed_.wait(mutex_);
  if (closed_)
    refuse_after_shutdown();
  ++on_their_way_;
}

void save_queue::tracker::end(std::optional<error> problem) {
  mutex_lock lock{mutex_};
  --on_their_way_;
  if (problem && !problem_)
    problem_ = std::move(problem);
  changed_.notify_all();
}

void save_queue::tracker::wait_for_all() {
  mutex_lock lock{mutex_};
  while (on_their_way_ > 0)
    changed_.wait(mutex_);
}

void save_queue::tracker::close() {
  mutex_lock lock{mutex_};
  closed_ = true;
  while (on_their_way_ > 0)
    changed_.wait(mutex_);
}

void save_queue::tracker::check() {
  std::optional<error> problem;
  {
    mutex_lock lock{mutex_};
    problem.swap(problem_);
  }
  if (problem)
    throw error(*problem);
}

void save_queue::save(save_request request) {
  check();
  saves_->begin();
  try {
    start();
  } catch (...) {
    saves_->end({}); // it never was
    throw;
  }
  try {
    request.done = [saves = saves_](std::optional<error> problem) {
      saves->end(std::move(problem));
    };
    run(std::move(request));
  } catch (...) {
    saves_->end(error_in_flight(errc::io, {.stage = "save"}));
  }
  if (!host_)
    check();
}

void save_queue::start() {
  if (host_ && !actor_)
    actor_ = spawn_checkpoint(host_(), gate_token{lives_});
}

void save_queue::run(save_request request) {
  const auto& part = *request.part;
  if (request.records)
    request.records->saving(request.directory, {part.epoch, part.step}, part.lanes);
  if (!host_)
    return store(request);
  const auto to = actor_; // once it is done, another thread may end the actor
  caf::anon_send(to, std::move(request));
}

void save_queue::end() noexcept {
  saves_->close();
  if (!actor_)
    return;
  caf::anon_send_exit(actor_, caf::exit_reason::user_shutdown);
  actor_ = nullptr;
  while (!lives_->wait_for_none(std::chrono::hours{1}))
    notice("loader: still waiting for its end: snapshots");
}

} // namespace leat
