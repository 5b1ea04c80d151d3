#include "python/module/processes/process_team.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <leat/bad_sample.hpp>

#include "python/module/callables.hpp"
#include "python/module/convert/bytes.hpp"
#include "python/module/errors.hpp"
#include "python/module/without_gil.hpp"
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <exception>
#include <system_error>
#include <utility>

namespace leat::python {

namespace {

/// Runs the handlers of signals that came while the thread waited; throws what they raise, such as
/// KeyboardInterrupt.
void heed_signals() {
  const gil_held held;
  if (run_handlers())
    return;
  nb::python_error raised;
  throw_for_job(raised);
}

nb::module_ helpers() {
  return nb::module_::import_("leat.processes");
}

/// Calls Python to manage a process; its exceptions become errors of a job.
template <class Call>
auto with_python(const std::string& stage, Call call) {
  const gil_held held;
  try {
    return call();
  } catch (nb::python_error& problem) {
    if (problem.matches(PyExc_OSError) || problem.matches(PyExc_MemoryError))
      throw_error(errc::no_resources, stage, text_of(problem),
                  "a machine that lets processes begin");
    if (problem.matches(PyExc_Exception))
      throw error(errc::worker_lost, {.stage = stage, .got = text_of(problem)});
    throw_through(problem);
  }
}

/// Takes over the outcome of one call from another process.
void take_reply(call_reader& from, process_call& call) {
  const auto end = static_cast<call_end>(from.number());
  if (end == call_end::done) {
    call.result = from.text();
    return read_fields(from, *call.on);
  }
  const auto why = static_cast<cause>(from.number());
  const std::string text{from.text()};
  const auto raised = from.text();
  switch (end) {
  case call_end::bad:
    throw bad_sample(why, text);
  case call_end::no_resources:
    throw error(errc::no_resources,
                {.got = text, .needed = "a machine, or limits of the process, that have more"});
  default: {
    const gil_held held;
    throw_through(helpers().attr("raised")(nb::bytes(raised.data(), raised.size())), text);
  }
  }
}

/// Calls that are being made by the processes of a team.
class dealt_calls : not_copied {
public:
  dealt_calls(process_team& team, std::uint64_t operation, std::span<process_call> calls)
      : team_(&team), operation_(operation), calls_(calls) {
    // The parts get smaller and smaller, so that processes finish at about the same time.
    while (!calls.empty()) {
      const auto size = std::max<std::size_t>(1, calls.size() / (2 * team.size()));
      waiting_.push_back({calls.first(size)});
      calls = calls.subspan(size);
    }
  }
  /// Ends processes that still work on calls: their samples may be gone.
  ~dealt_calls() {
    for (const auto& x : flying_) {
      x.in->end();
      team_->give_back(*x.in);
    }
  }

  void run() {
    if (calls_.empty())
      return;
    do {
      deal();
      collect();
    } while (!flying_.empty() || !waiting_.empty());
    if (problem_)
      std::rethrow_exception(problem_);
  }

private:
  struct part {
    std::span<process_call> calls;
    /// How many processes died of it since it consists of one call.
    int deaths = 0;
  };
  struct flight {
    function_process* in;
    part what;
  };

  void deal() {
    // Waits for a free process only if it has none: otherwise its own replies free one.
    while (!waiting_.empty()) {
      auto* const process = flying_.empty() ? &team_->take([this] { wait(); }) : team_->try_take();
      if (!process)
        return;
      flying_.push_back({process, waiting_.front()});
      waiting_.pop_front();
      process->send(operation_, flying_.back().what.calls);
    }
  }

  void collect() {
    std::vector<pollfd> sockets;
    for (const auto& x : flying_)
      sockets.push_back({x.in->socket(), POLLIN, 0});
    for (int ready = 0; ready <= 0;) {
      ready = ::poll(sockets.data(), sockets.size(), static_cast<int>(between_looks.count()));
      if (ready < 0 && errno != EINTR)
        throw error(errc::no_resources,
                    {.stage = team_->stage(), .got = std::generic_category().message(errno)});
      if (ready <= 0)
        look();
    }
    for (std::size_t i = sockets.size(); i-- > 0;) // backward, as receive() erases
      if (sockets[i].revents != 0)
        receive(i);
  }

  void heed() {
    heed_signals();
    if (calls_.front().on->cancelled())
      throw_error(errc::interrupted, team_->stage(),
                  "the end of the loader, while a process has calls",
                  "none: what they make is not needed any more");
  }

  /// Called while it waits for a free process. Restarts the clock of this call: it does not hang,
  /// but the call that has the process may.
  void wait() {
    heed();
    if (const auto* in = waiting_.front().calls.front().in)
      in->begins();
  }

  /// Called when no process has answered for a while.
  void look() {
    heed();
    const auto& [process, what] = flying_.front();
    const auto begun = process->begun();
    if (begun == 0 || begun > what.calls.size())
      return;
    // The call of the first process: one that hangs ends up as the first.
    const auto& call = what.calls[static_cast<std::size_t>(begun - 1)];
    if (call.in && std::exchange(named_, &call) != &call)
      call.in->begins();
  }

  void receive(std::size_t i) {
    auto& process = *flying_[i].in;
    const auto message = process.receive();
    if (message && message->what == process_message::kind::ready)
      return;
    const auto what = flying_[i].what;
    if (message && message->what == process_message::kind::replies) {
      take_replies(process.content(*message), what);
    } else {
      const auto refusal = message ? std::string{process.content(*message).text()} : std::string{};
      const bool was_ready = process.is_ready();
      const auto exit = process.end();
      if (!was_ready)
        fail(std::make_exception_ptr(not_begun(refusal, exit)));
      else
        deal_again(what, exit);
    }
    flying_.erase(flying_.begin() + static_cast<std::ptrdiff_t>(i));
    team_->give_back(process);
  }

  void take_replies(call_reader from, const part& what) {
    try {
      for (auto& call : what.calls)
        take_reply(from, call);
    } catch (...) {
      fail(std::current_exception());
    }
  }

  void deal_again(part what, const function_process::exit& exit) {
    if (problem_)
      return;
    if (what.calls.size() > 1) { // makes them one by one, to find the one that kills the process
      for (std::size_t i = what.calls.size(); i-- > 0;)
        waiting_.push_front({what.calls.subspan(i, 1)});
    } else if (++what.deaths < 2) {
      waiting_.push_front(what);
    } else if (exit.was_killed) {
      fail(std::make_exception_ptr(
          error(errc::no_resources,
                {.stage = team_->stage(),
                 .sample = what.calls[0].on->id(),
                 .got = "its process was killed twice (" + exit.text + ")",
                 .needed = "more memory, if the kernel killed it for want of that"})));
    } else {
      fail(std::make_exception_ptr(
          bad_sample(cause::function_error, "its process ended twice: " + exit.text)));
    }
  }

  error not_begun(const std::string& refusal, const function_process::exit& exit) const {
    if (refusal.empty())
      return {errc::worker_lost,
              {.stage = team_->stage(),
               .got = "a process that ended while it began: " + exit.text,
               .needed = "one that begins; its standard error may say more"}};
    return {errc::worker_lost,
            {.stage = team_->stage(),
             .got = "a process without its functions: " + refusal,
             .needed = "functions that other processes can import"}};
  }

  void fail(std::exception_ptr problem) {
    if (!problem_)
      problem_ = std::move(problem);
    waiting_.clear();
  }

  process_team* team_;
  std::uint64_t operation_;
  std::span<process_call> calls_;
  /// The call that an error names if it hangs.
  const process_call* named_ = nullptr;
  std::deque<part> waiting_;
  std::vector<flight> flying_;
  std::exception_ptr problem_;
};

} // namespace

function_process::~function_process() {
  (void)end();
}

void function_process::send(std::uint64_t operation, std::span<process_call> calls) {
  for (bool again = true;; again = false) {
    if (!channel_)
      begin();
    call_writer to{channel_->requests};
    to.value(std::uint64_t{0}); // see begun()
    to.value(operation);
    to.value(std::uint64_t{calls.size()});
    for (const auto& call : calls)
      write_call(to, call);
    if (send_message({process_message::kind::calls, to.size(), channel_->requests.bytes().size()}))
      return;
    if (!again)
      return;    // receive() reports its end
    (void)end(); // it died while it was idle
  }
}

std::optional<process_message> function_process::receive() {
  process_message found;
  ssize_t size = 0;
  do {
    size = ::recv(channel_->socket.get(), &found, sizeof found, 0);
    // If the process ended with calls unread, ECONNRESET comes before the messages that it had
    // sent.
  } while (size < 0 && (errno == EINTR || errno == ECONNRESET));
  if (size != static_cast<ssize_t>(sizeof found))
    return {};
  if (found.what == process_message::kind::ready)
    is_ready_ = true;
  channel_->replies.follow(found.size);
  return found;
}

call_reader function_process::content(const process_message& x) const {
  const auto all = channel_->replies.bytes();
  return call_reader{all.first(std::min<std::size_t>(x.used, all.size()))};
}

std::uint64_t function_process::begun() const noexcept {
  return number_of_begun(channel_->requests).load(std::memory_order_relaxed);
}

int function_process::socket() const noexcept {
  return channel_->socket.get();
}

void function_process::begin() {
  with_python(recipe_->stage, [&] {
    const nb::tuple begun = nb::cast<nb::tuple>(recipe_->made.attr("begin")());
    channel_.reset(new channel{
        descriptor{nb::cast<int>(begun[1])}, shared_memory{descriptor{nb::cast<int>(begun[2])}},
        shared_memory{descriptor{nb::cast<int>(begun[3])}}, nb::object(begun[0])});
  });
  is_ready_ = false;
}

bool function_process::send_message(const process_message& x) const {
  ssize_t size = 0;
  do {
    size = ::send(channel_->socket.get(), &x, sizeof x, MSG_NOSIGNAL);
  } while (size < 0 && errno == EINTR);
  return size == static_cast<ssize_t>(sizeof x);
}

function_process::exit function_process::end() {
  if (!channel_)
    return {};
  const auto ended = std::exchange(channel_, nullptr);
  is_ready_ = false;
  if (python_calls_ended()) { // the process ends by itself when its socket closes
    ended->process.release();
    return {};
  }
  const auto state = PyGILState_Ensure();
  exit result;
  try {
    const auto said = nb::cast<nb::tuple>(helpers().attr("end")(ended->process));
    result = {nb::cast<std::string>(said[0]), nb::cast<bool>(said[1])};
  } catch (nb::python_error& problem) {
    result.text = problem.what();
    if (!problem.matches(PyExc_Exception))
      raise_later(std::move(problem));
  } catch (const std::exception& problem) {
    result.text = problem.what();
  }
  ended->process.reset();
  PyGILState_Release(state);
  return result;
}

process_team::process_team(process_recipe recipe) : recipe_(std::move(recipe)), owner_(::getpid()) {
  for (std::size_t i = 0; i < recipe_.processes; ++i) {
    all_.push_back(std::make_unique<function_process>(recipe_));
    idle_.push_back(all_.back().get());
  }
}

void process_team::call(std::uint64_t operation, std::span<process_call> calls) {
  dealt_calls{*this, operation, calls}.run();
}

bool process_team::is_own() const noexcept {
  return owner_ == ::getpid();
}

function_process& process_team::take(const std::function<void()>& waits) {
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

function_process* process_team::try_take() {
  const mutex_lock lock{mutex_};
  if (idle_.empty())
    return nullptr;
  auto* const taken = idle_.back();
  idle_.pop_back();
  return taken;
}

void process_team::give_back(function_process& x) {
  {
    const mutex_lock lock{mutex_};
    idle_.push_back(&x);
  }
  given_back_.notify_one();
}

std::shared_ptr<process_team> process_pool::join() {
  const mutex_lock lock{mutex_};
  auto team = team_.lock();
  if (!team || !team->is_own()) {
    team = std::make_shared<process_team>(recipe_);
    team_ = team;
  }
  return team;
}

std::shared_ptr<process_team> process_pool::join_for_good() {
  auto team = join();
  const mutex_lock lock{mutex_};
  held_ = team;
  return team;
}

} // namespace leat::python
