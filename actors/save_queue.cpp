#include "actors/save_queue.hpp"

#include "actors/own_thread.hpp"
#include "actors/runtime_system.hpp"
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
  start(); // not after begin(): it may fail
  saves_->begin();
  try {
    request.done = [saves = saves_](std::optional<error> problem) {
      saves->end(std::move(problem));
    };
    run(std::move(request));
  } catch (...) {
    saves_->end(error_in_flight(errc::io, {.stage = "save"}));
  }
  if (!in_background_)
    check();
}

void save_queue::start() {
  if (in_background_ && !actor_)
    actor_ = spawn_in_thread(shared_system(), "save", checkpoint, gate_token{lives_});
}

void save_queue::run(save_request request) {
  const auto& part = *request.part;
  if (request.records)
    request.records->saving(request.directory, {part.epoch, part.step}, part.lanes);
  if (in_background_)
    caf::anon_send(actor_, std::move(request));
  else
    store(request);
}

void save_queue::shutdown() noexcept {
  wait_for_all();
  if (!actor_)
    return;
  caf::anon_send_exit(actor_, caf::exit_reason::user_shutdown);
  actor_ = nullptr;
  while (!lives_->wait_for_none(std::chrono::hours{1}))
    notice("loader: still waiting for its end: snapshots");
}

} // namespace leat
