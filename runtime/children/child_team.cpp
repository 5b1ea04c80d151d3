#include "runtime/children/child_team.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/children/dealt_calls.hpp"

#include <leat/bad_sample.hpp>

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <exception>
#include <system_error>
#include <utility>

namespace leat {

namespace {

/// How often a wait looks whether it is to end.
constexpr std::chrono::milliseconds between_looks{100};

/// Calls that are being made by the processes of a team.
class calls_in_flight : not_copied {
public:
  calls_in_flight(child_pool::team& team, std::uint64_t operation, std::span<function_call> calls)
      : team_(&team), operation_(operation), calls_(calls), left_(calls.size(), team.size()) {}
  /// Ends processes that still work on calls: their samples may be gone.
  ~calls_in_flight() {
    for (const auto& x : flying_) {
      (void)x.in->end();
      team_->give_back(*x.in);
    }
  }

  void run() {
    if (calls_.empty())
      return;
    do {
      deal();
      collect();
    } while (!flying_.empty() || left_.has_next());
    if (problem_)
      std::rethrow_exception(problem_);
  }

private:
  struct flight {
    function_process* in;
    dealt_part what;
  };

  std::span<function_call> calls_of(const dealt_part& x) const {
    return calls_.subspan(x.first, x.size());
  }

  void deal() {
    // Waits for a free process only if it has none: otherwise its own replies free one.
    while (left_.has_next()) {
      auto* const process = flying_.empty() ? &team_->take([this] { wait(); }) : team_->try_take();
      if (!process)
        return;
      flying_.push_back({process, *left_.next()});
      const auto& part = flying_.back().what;
      if (part.needs_new_process && process->has_made_calls())
        (void)process->end();
      process->send(operation_, calls_of(part));
    }
  }

  void collect() {
    std::vector<pollfd> sockets;
    for (const auto& x : flying_)
      sockets.push_back({x.in->socket(), POLLIN, 0});
    for (int ready = 0; ready <= 0;) {
      ready = ::poll(sockets.data(), sockets.size(), static_cast<int>(between_looks.count()));
      if (ready < 0 && errno != EINTR)
        throw error(errc::no_resources, {.stage = team_->recipe().stage,
                                         .got = std::generic_category().message(errno)});
      if (ready <= 0)
        look();
      if (ready == 0 && receive_of_ended())
        return;
    }
    for (std::size_t i = sockets.size(); i-- > 0;) // backward, as receive() erases
      if (sockets[i].revents != 0)
        receive(i);
  }

  /// A process that a function has begun keeps the socket open when its own process has ended.
  /// Returns whether there is one.
  bool receive_of_ended() {
    bool is_any = false;
    for (std::size_t i = flying_.size(); i-- > 0;) // backward, as receive() erases
      if (flying_[i].in->has_ended()) {
        receive(i);
        is_any = true;
      }
    return is_any;
  }

  void heed() {
    if (team_->recipe().look)
      team_->recipe().look();
    if (calls_.front().on->cancelled())
      throw_error(errc::interrupted, team_->recipe().stage,
                  "the end of the loader, while a process has calls",
                  "none: what they make is not needed any more");
  }

  /// Called while it waits for a free process. Restarts the clock of this call: it does not hang,
  /// but the call that has the process may.
  void wait() {
    heed();
    if (const auto* in = calls_[left_.next_call()].in)
      in->begins();
  }

  /// Called when no process has answered for a while.
  void look() {
    heed();
    const auto& [process, what] = flying_.front();
    const auto begun = process->begun();
    if (begun == 0 || begun > what.size())
      return;
    // The call of the first process: one that hangs ends up as the first.
    const auto& call = calls_of(what)[static_cast<std::size_t>(begun - 1)];
    if (call.in && std::exchange(named_, &call) != &call)
      call.in->begins();
  }

  void receive(std::size_t i) {
    auto& process = *flying_[i].in;
    const auto what = flying_[i].what;
    try {
      const auto message = process.receive();
      if (message && message->what == child_message::kind::ready)
        return;
      if (message && message->what == child_message::kind::replies)
        take_replies(process.content(*message), what);
      else if (message && message->what == child_message::kind::refused)
        refuse(process, process.content(*message));
      else
        take_end(process, what);
    } catch (const torn_value& problem) {
      fail(std::make_exception_ptr(torn(problem)));
      (void)process.end();
    }
    flying_.erase(flying_.begin() + static_cast<std::ptrdiff_t>(i));
    team_->give_back(process);
  }

  void take_replies(value_reader from, const dealt_part& what) {
    for (auto& call : calls_of(what))
      if (const auto problem = read_reply(from, call)) {
        try {
          raise(*problem);
        } catch (...) {
          return fail(std::current_exception());
        }
      }
  }

  void raise(const call_failure& x) const {
    switch (x.what) {
    case call_failure::kind::bad:
      throw bad_sample(x.why, x.text);
    case call_failure::kind::no_resources:
      throw error(errc::no_resources,
                  {.got = x.text, .needed = "a machine, or limits of the process, that have more"});
    case call_failure::kind::interrupted:
      if (team_->recipe().raise)
        team_->recipe().raise(x.text, x.raised);
      throw error(errc::interrupted, {.stage = team_->recipe().stage, .got = x.text});
    }
  }

  void refuse(function_process& process, value_reader from) {
    const std::string refusal{from.text()};
    (void)process.end();
    fail(std::make_exception_ptr(
        error(errc::worker_lost, {.stage = team_->recipe().stage,
                                  .got = "a process without its functions: " + refusal,
                                  .needed = "functions that other processes can import"})));
  }

  void take_end(function_process& process, const dealt_part& what) {
    const bool was_ready = process.is_ready();
    const auto how = process.end_by_itself();
    if (problem_)
      return;
    if (!was_ready && meaning_of(how) == end_of_child::fault)
      return fail(std::make_exception_ptr(error(
          errc::worker_lost, {.stage = team_->recipe().stage,
                              .got = "a process that ended while it began: " + to_string(how),
                              .needed = "one that begins; its standard error may say more"})));
    if (const auto verdict = left_.ended(what, how, was_ready))
      fail(exception_of(*verdict));
  }

  std::exception_ptr exception_of(const call_verdict& x) const {
    const auto how = to_string(x.how);
    if (x.what == call_verdict::kind::killed)
      return std::make_exception_ptr(
          bad_sample(cause::killed, "it ended its process twice, alone: " + how));
    const auto& stage = team_->recipe().stage;
    const auto id = calls_[x.call].on->id();
    if (x.what == call_verdict::kind::no_memory)
      return std::make_exception_ptr(
          error(errc::no_resources,
                {.stage = stage,
                 .sample = id,
                 .got = "the kernel killed its process twice because memory ran out (" + how + ")",
                 .needed = "more memory, fewer processes, or smaller samples"}));
    return std::make_exception_ptr(error(
        errc::no_resources,
        {.stage = stage,
         .sample = id,
         .got = "its process was ended from outside " + std::to_string(dealt_calls::most_losses)
                + " times (" + how + ")",
         .needed = "whoever ends it to leave it alone; or more memory, if the kernel killed it for "
                   "want of that"}));
  }

  error torn(const torn_value& problem) const {
    return {errc::worker_lost,
            {.stage = team_->recipe().stage,
             .got = std::string{"torn bytes from the process of a function: "} + problem.what(),
             .needed = "a function that leaves other memory alone"}};
  }

  void fail(std::exception_ptr problem) {
    if (!problem_)
      problem_ = std::move(problem);
    left_.drop();
  }

  child_pool::team* team_;
  std::uint64_t operation_;
  std::span<function_call> calls_;
  dealt_calls left_;
  /// The call that an error names if it hangs.
  const function_call* named_ = nullptr;
  std::vector<flight> flying_;
  std::exception_ptr problem_;
};

} // namespace

child_pool::team::team(child_recipe recipe) : recipe_(std::move(recipe)), owner_(::getpid()) {
  for (std::size_t i = 0; i < recipe_.processes; ++i) {
    all_.push_back(std::make_unique<function_process>(recipe_));
    idle_.push_back(all_.back().get());
  }
}

void child_pool::team::call(std::uint64_t operation, std::span<function_call> calls) {
  calls_in_flight{*this, operation, calls}.run();
}

bool child_pool::team::is_own() const noexcept {
  return owner_ == ::getpid();
}

function_process& child_pool::team::take(const std::function<void()>& waits) {
  const auto next_look = [] { return std::chrono::steady_clock::now() + between_looks; };
  mutex_lock lock{mutex_};
  for (auto look_at = next_look(); idle_.empty();) {
    if (given_back_.wait_until(mutex_, look_at))
      continue;
    lock.unlock();
    waits();
    look_at = next_look();
    lock.lock();
  }
  auto& taken = *idle_.back();
  idle_.pop_back();
  return taken;
}

function_process* child_pool::team::try_take() {
  const mutex_lock lock{mutex_};
  if (idle_.empty())
    return nullptr;
  auto* const taken = idle_.back();
  idle_.pop_back();
  return taken;
}

void child_pool::team::give_back(function_process& x) {
  {
    const mutex_lock lock{mutex_};
    idle_.push_back(&x);
  }
  given_back_.notify_one();
}

struct child_pool::state {
  explicit state(child_recipe x) : recipe(std::move(x)) {}

  const child_recipe recipe;
  mutex guard;
  std::weak_ptr<team> used LEAT_GUARDED_BY(guard);
  std::shared_ptr<team> held LEAT_GUARDED_BY(guard);
};

child_pool::child_pool(child_recipe recipe) : state_(std::make_unique<state>(std::move(recipe))) {}

child_pool::~child_pool() = default;

std::shared_ptr<child_pool::team> child_pool::join() {
  const mutex_lock lock{state_->guard};
  auto found = state_->used.lock();
  if (!found || !found->is_own()) {
    found = std::make_shared<team>(state_->recipe);
    state_->used = found;
  }
  return found;
}

std::shared_ptr<child_pool::team> child_pool::join_for_good() {
  auto found = join();
  const mutex_lock lock{state_->guard};
  state_->held = found;
  return found;
}

} // namespace leat
