#include <leat/bad_sample.hpp>
#include <leat/error.hpp>

#include "python/module/callables.hpp"
#include "python/module/errors.hpp"
#include "python/module/module.hpp"
#include "python/module/processes/process_calls.hpp"
#include "python/module/sample.hpp"
#include "python/module/stages.hpp"
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace leat::python {

namespace {

/// A function that runs one call, or several at once.
struct operation {
  std::function<void(std::span<process_call* const> calls)> run;
  bool takes_many = false;
};

operation alone(std::function<void(process_call&)> f) {
  return {[f = std::move(f)](auto calls) { f(*calls[0]); }};
}

operation operation_of(const map_stage& x) {
  if (!x.make_together)
    return alone([f = x.make()](process_call& call) { f(*call.on, *call.in); });
  return {[f = x.make_together()](std::span<process_call* const> calls) {
            std::vector<sample*> samples;
            std::vector<context> places;
            for (const auto* call : calls) {
              samples.push_back(call->on);
              places.push_back(*call->in);
            }
            f(samples, places);
          },
          true};
}

std::vector<operation> operations_of(nb::handle made) {
  if (nb::isinstance<map_value>(made))
    return {operation_of(nb::cast<map_value&>(made).value)};
  if (nb::isinstance<filter_value>(made))
    return {alone([f = nb::cast<filter_value&>(made).value.make()](process_call& call) {
      call.result = bytes_of_number(f(*call.on) ? 1 : 0);
    })};
  if (nb::isinstance<flat_map_value>(made)) {
    const auto f = nb::cast<flat_map_value&>(made).value.make();
    return {alone([f](process_call& call) { call.result = bytes_of_number(f.count(*call.on)); }),
            alone([f](process_call& call) { f.pick(*call.on, number_in(call.argument)); })};
  }
  if (nb::isinstance<scan_value>(made)) {
    const auto f = nb::cast<scan_value&>(made).value.make();
    return {alone([f](process_call& call) { call.result = f.look(*call.on); }),
            alone([f](process_call& call) { f.apply(*call.on, call.argument); })};
  }
  return {alone(
      [read = reader_of(made)](process_call& call) { read(number_in(call.argument), *call.on); })};
}

/// How a call failed.
struct failure {
  call_end end;
  cause why = cause::function_error;
  std::string text;
  std::string raised = {};
};

std::optional<failure> run(const operation& what, std::span<process_call* const> calls) {
  try {
    what.run(calls);
    return {};
  } catch (const bad_sample& problem) {
    return failure{call_end::bad, problem.why(), problem.what()};
  } catch (const error& problem) {
    if (problem.code() == errc::interrupted)
      return failure{call_end::interrupted, cause::function_error, problem.details().got,
                     pickled_through()};
    if (problem.code() == errc::no_resources)
      return failure{call_end::no_resources, cause::function_error, problem.details().got};
    return failure{call_end::bad, cause::function_error, problem.what()};
  } catch (const std::bad_alloc&) {
    return failure{call_end::no_resources, cause::function_error, "no memory in the process"};
  }
}

/// Ends this process if its parent ends while a function runs, which may never return.
class parent_watch {
public:
  explicit parent_watch(int parent) {
    if (parent < 0)
      return;
    try {
      std::thread{[state = state_, parent] {
        pollfd end{parent, POLLIN, 0};
        while (::poll(&end, 1, -1) < 0 && errno == EINTR) {
        }
        state->parent_has_ended = true;
        if (state->is_calling)
          ::_exit(EXIT_FAILURE);
      }}.detach();                       // the process ends with _exit
    } catch (const std::system_error&) { // no thread: the process ends only after the function
    }
  }

  template <class Call>
  auto around(Call call) {
    state_->is_calling = true;
    if (state_->parent_has_ended)
      ::_exit(EXIT_FAILURE);
    const auto result = call();
    state_->is_calling = false;
    return result;
  }

private:
  struct state {
    std::atomic<bool> is_calling{false};
    std::atomic<bool> parent_has_ended{false};
  };

  std::shared_ptr<state> state_ = std::make_shared<state>();
};

class server {
public:
  server(int socket, int requests, int replies, int parent, nb::handle made)
      : socket_(socket), requests_(descriptor{requests}), replies_(descriptor{replies}),
        parent_(static_cast<int>(::syscall(SYS_pidfd_open, parent, 0))) {
    if (!made.is_none())
      operations_ = operations_of(made);
  }

  void say(process_message::kind what, std::string_view text) {
    call_writer to{replies_};
    if (!text.empty())
      to.text(text);
    send(what, to.size());
  }

  /// Serves calls until the other end is closed.
  void serve() {
    const auto flush = nb::module_::import_("leat.processes").attr("flush");
    while (const auto message = receive()) {
      requests_.follow(message->size);
      call_reader from{requests_.bytes().first(message->used)};
      (void)from.number(); // the count of calls that have begun: see number_of_begun
      const auto operation = from.number();
      read_calls(from);
      const auto& what = operations_.at(operation);
      const auto size = watch_.around([&] { return run_calls(what); });
      flush(); // now, because the process is killed when it is not needed any more
      if (!send(process_message::kind::replies, size))
        return;
    }
  }

private:
  std::optional<process_message> receive() const {
    const nb::gil_scoped_release released;
    // The socket alone does not tell that the parent has ended: a fork of it holds the other end,
    // too.
    std::array<pollfd, 2> ends{{{socket_.get(), POLLIN, 0}, {parent_.get(), POLLIN, 0}}};
    while (::poll(ends.data(), ends.size(), -1) < 0)
      if (errno != EINTR)
        return {};
    process_message found;
    if (ends[0].revents == 0 || ::recv(socket_.get(), &found, sizeof found, 0) != sizeof found)
      return {};
    return found;
  }

  bool send(process_message::kind what, std::size_t used) const {
    const process_message x{what, used, replies_.bytes().size()};
    return ::send(socket_.get(), &x, sizeof x, MSG_NOSIGNAL) == sizeof x;
  }

  void read_calls(call_reader& from) {
    const auto n = from.number();
    while (calls_.size() < n)
      calls_.emplace_back();
    given_.clear();
    for (std::size_t i = 0; i < n; ++i) {
      calls_[i].read(from);
      given_.push_back(&calls_[i].call());
      give_id(*given_.back()->on, calls_[i].id());
    }
  }

  /// Returns the number of bytes that it wrote.
  std::size_t run_calls(const operation& what) {
    call_writer to{replies_};
    const std::span<process_call* const> all{given_};
    if (what.takes_many) {
      const auto problem = run(what, all);
      for (std::size_t i = 0; i < all.size(); ++i)
        write_reply(to, i, problem);
    } else {
      for (std::size_t i = 0; i < all.size(); ++i) {
        number_of_begun(requests_).store(i + 1, std::memory_order_relaxed);
        write_reply(to, i, run(what, all.subspan(i, 1)));
      }
    }
    return to.size();
  }

  void write_reply(call_writer& to, std::size_t i, const std::optional<failure>& problem) const {
    to.value(problem ? problem->end : call_end::done);
    if (problem) {
      to.value(std::uint64_t{static_cast<std::uint8_t>(problem->why)});
      to.text(problem->text);
      to.text(problem->raised);
    } else {
      to.text(given_[i]->result);
      calls_[i].write_fields(to);
    }
  }

  descriptor socket_;
  shared_memory requests_;
  shared_memory replies_;
  /// A pidfd of the parent, which becomes readable when that has ended; -1 if the kernel has no
  /// such thing.
  descriptor parent_;
  parent_watch watch_{parent_.get()};
  std::vector<operation> operations_;
  std::deque<received_call> calls_;
  std::vector<process_call*> given_;
};

void serve_calls(int socket, int requests, int replies, int parent, nb::handle made,
                 const std::string& refusal) {
  server calls{socket, requests, replies, parent, made};
  if (!refusal.empty())
    return calls.say(process_message::kind::refused, refusal);
  calls.say(process_message::kind::ready, {});
  calls.serve();
}

} // namespace

void bind_process_server(nb::module_& m) {
  m.def("_serve_calls", &serve_calls, "socket"_a, "requests"_a, "replies"_a, "parent"_a,
        "made"_a.none(), "refusal"_a);
}

} // namespace leat::python
