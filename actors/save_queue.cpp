#include "actors/save_queue.hpp"

#include "actors/caf/outside_caller.hpp"
#include "actors/pipeline.hpp"
#include "actors/runtime_core.hpp"
#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/patience.hpp"

#include <leat/notice.hpp>

#include <chrono>
#include <utility>

namespace leat {

void save_queue::tracker::wait_for_all_but(std::size_t n) {
  for (;;) {
    {
      mutex_lock lock{mutex_};
      const auto limit = end_of_patience();
      while (on_their_way_.size() > n && changed_.wait_until(mutex_, limit)) {
      }
      if (on_their_way_.size() <= n)
        return;
    }
    check_patience();
  }
}

void save_queue::tracker::begin(under_way x) {
  wait_for_all_but(1);
  const mutex_lock lock{mutex_};
  if (closed_)
    refuse_after_shutdown();
  on_their_way_.push_back(std::move(x));
}

void save_queue::tracker::keep(std::optional<error> problem) noexcept {
  if (!problem)
    return;
  {
    const mutex_lock lock{mutex_};
    if (problem_)
      return;
    problem_ = std::move(problem);
    is_told_ = false;
  }
  tell_unasked();
}

/// Outside the lock: notices go to a function of the program's.
void save_queue::tracker::tell_unasked() noexcept try {
  std::string text{"loader: a snapshot was not saved: "};
  {
    const mutex_lock lock{mutex_};
    if (!is_unasked_ || !problem_ || std::exchange(is_told_, true))
      return;
    text += problem_->what();
  }
  notice(text);
} catch (...) { // no memory for the text
}

void save_queue::tracker::set_unasked(bool x) noexcept {
  {
    const mutex_lock lock{mutex_};
    is_unasked_ = x;
  }
  tell_unasked();
}

void save_queue::tracker::take_back(std::optional<error> problem) noexcept {
  keep(std::move(problem));
  const mutex_lock lock{mutex_};
  on_their_way_.pop_back();
  changed_.notify_all();
}

/// Keeps the error before it counts the save as done: once no save is on its way, nothing is
/// reported any more.
void save_queue::tracker::end(std::optional<error> problem) noexcept {
  keep(std::move(problem));
  const mutex_lock lock{mutex_};
  on_their_way_.pop_front();
  changed_.notify_all();
}

void save_queue::tracker::answered(const save_report& x) noexcept {
  const under_way* save = nullptr;
  {
    const mutex_lock lock{mutex_};
    if (on_their_way_.empty())
      return;
    save = &on_their_way_.front(); // stays there up to end()
  }
  auto problem = x.problem;
  try {
    if (!problem)
      metrics_->saved(x.begin_ns, x.end_ns, x.bytes);
    if (x.oldest && save->records)
      save->records->kept_from(save->directory, *x.oldest);
  } catch (...) {
    problem = error_in_flight(errc::io, {.stage = "snapshot", .file = save->directory});
  }
  end(std::move(problem));
}

void save_queue::tracker::lost() noexcept {
  for (;;) {
    {
      const mutex_lock lock{mutex_};
      if (on_their_way_.empty())
        return;
    }
    end(no_memory_to_tell);
  }
}

void save_queue::tracker::close() {
  mutex_lock lock{mutex_};
  closed_ = true;
  while (!on_their_way_.empty())
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

save_queue::~save_queue() {
  end();
  saves_->set_unasked(true);
}

void save_queue::save(save_request request, const std::shared_ptr<journal_retention>& records) {
  check();
  saves_->begin({request.directory, records});
  try {
    start();
  } catch (...) {
    saves_->take_back({});
    throw;
  }
  try {
    run(std::move(request), records.get());
  } catch (...) {
    saves_->take_back(error_in_flight(errc::io, {.stage = "save"}));
  }
  if (!host_)
    check();
}

void save_queue::start() {
  if (!host_ || actor_)
    return;
  auto& host = host_();
  caller_ = make_outside_caller(host.system(), [saves = saves_](const caf::message& x) {
    if (x.match_elements<save_report>())
      saves->answered(x.get_as<save_report>(0));
    else
      saves->lost();
  });
  // An answer needs memory: without any the actor ends.
  auto actor = spawn_checkpoint(
      host, [saves = saves_](const error&) { saves->lost(); }, gate_token{lives_});
  prepared_exit exit{actor};
  actor->attach_functor([saves = saves_] { saves->lost(); });
  actor_ = std::move(actor);
  exit_ = std::move(exit);
}

void save_queue::run(save_request request, journal_retention* records) {
  const auto& part = *request.part;
  if (records)
    records->saving(request.directory, {part.epoch, part.step}, part.lanes);
  if (!host_)
    return saves_->answered(store(request));
  // Copies: once the save is done, another thread may end the actor.
  const auto to = actor_;
  const auto caller = caller_;
  ask(caller, to, std::move(request));
}

void save_queue::end() noexcept {
  saves_->close();
  if (!actor_)
    return;
  exit_.send();
  actor_ = nullptr;
  caller_ = nullptr;
  while (!lives_->wait_for_none(std::chrono::hours{1}))
    notice("loader: still waiting for this to end: snapshots");
}

} // namespace leat
