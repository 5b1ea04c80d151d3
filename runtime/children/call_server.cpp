#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/fork_check.hpp"
#include "runtime/base/uninterrupted.hpp"
#include "runtime/children/call_codec.hpp"
#include "runtime/children/shared_memory.hpp"
#include "runtime/storage/file_descriptor.hpp"

#include <leat/child_functions.hpp>
#include <leat/error.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <deque>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

namespace leat {

namespace {

std::optional<call_failure> run(const served_functions& served, const served_function& what,
                                std::span<function_call* const> calls) {
  using kind = call_failure::kind;
  try {
    what.run(calls);
    return std::nullopt;
  } catch (const bad_sample& problem) {
    return call_failure{kind::bad, problem.why(), problem.what()};
  } catch (const error& problem) {
    if (problem.code() == errc::interrupted)
      return call_failure{.what = kind::interrupted,
                          .text = problem.details().got,
                          .raised = served.raised ? served.raised() : std::string{}};
    if (problem.code() == errc::no_resources)
      return call_failure{.what = kind::no_resources, .text = problem.details().got};
    return call_failure{.text = problem.what()};
  } catch (...) {
    if (const auto lack = lack_of_resources())
      return call_failure{.what = kind::no_resources, .text = *lack};
    return call_failure{.text = exception_text()};
  }
}

class server {
public:
  explicit server(const served_functions& functions)
      : functions_(functions), socket_(child_socket), requests_(file_descriptor{child_requests}),
        replies_(file_descriptor{child_content}) {
    for (const int x : {child_socket, child_requests, child_content})
      ::fcntl(x, F_SETFD, FD_CLOEXEC); // what functions start has other ends
  }

  void say(child_message::kind what, std::string_view text = {}) {
    value_writer to{replies_};
    to.text(text);
    send(what, to.size());
  }

  /// Serves calls until the other end is closed.
  void serve() {
    while (const auto message = receive()) {
      requests_.follow(message->size);
      value_reader from{requests_.bytes().first(message->used)};
      std::uint64_t begun = 0; // the count of calls that have begun: see number_of_begun
      from.as_it_is(begun);
      const auto& what = functions_.all.at(from.number());
      read_calls(from);
      const auto size = run_calls(what);
      if (functions_.flush)
        functions_.flush();
      if (!send(child_message::kind::replies, size))
        return;
    }
  }

private:
  std::optional<child_message> receive() const {
    child_message found;
    const auto size = uninterrupted([&] { return ::recv(socket_.get(), &found, sizeof found, 0); });
    if (size != static_cast<ssize_t>(sizeof found))
      return std::nullopt;
    return found;
  }

  bool send(child_message::kind what, std::size_t used) const {
    const child_message x{what, used, replies_.bytes().size()};
    return uninterrupted([&] { return ::send(socket_.get(), &x, sizeof x, MSG_NOSIGNAL); })
           == static_cast<ssize_t>(sizeof x);
  }

  void read_calls(value_reader& from) {
    const auto n = from.number();
    while (calls_.size() < n)
      calls_.emplace_back();
    given_.clear();
    for (std::size_t i = 0; i < n; ++i) {
      calls_[i].read(from);
      given_.push_back(&calls_[i].call());
    }
  }

  /// For a process that a function has begun by a fork, and that returns from the function as well:
  /// two answers to one call would be taken for those of two.
  void end_if_forked() const noexcept {
    if (!own_.is_here())
      ::_exit(EXIT_SUCCESS);
  }

  /// Returns the number of bytes that it wrote.
  std::size_t run_calls(const served_function& what) {
    value_writer to{replies_};
    const std::span<function_call* const> all{given_};
    if (what.takes_many) {
      const auto problem = run(functions_, what, all);
      end_if_forked();
      for (std::size_t i = 0; i < all.size(); ++i)
        calls_[i].write_reply(to, problem);
      return to.size();
    }
    for (std::size_t i = 0; i < all.size(); ++i) {
      number_of_begun(requests_.bytes()).store(i + 1, std::memory_order_relaxed);
      const auto problem = run(functions_, what, all.subspan(i, 1));
      end_if_forked();
      calls_[i].write_reply(to, problem);
    }
    return to.size();
  }

  const served_functions& functions_;
  file_descriptor socket_;
  shared_memory requests_;
  shared_memory replies_;
  const process_mark own_; // asking the system would cost a call of a small function 4%
  std::deque<received_call> calls_;
  std::vector<function_call*> given_;
};

} // namespace

// PR_SET_PDEATHSIG would end this process when the thread ends that started it, which may be any
// worker.
void end_with_parent(int parent) {
  file_descriptor end{static_cast<int>(::syscall(SYS_pidfd_open, parent, 0))};
  if ((!end && errno == ESRCH) || ::getppid() != parent)
    ::_exit(EXIT_FAILURE);
  if (!end)
    return; // an old kernel: the end of the socket must do
  try {
    std::thread{[number = end.get()] {
      pollfd x{number, POLLIN, 0};
      (void)uninterrupted([&] { return ::poll(&x, 1, -1); });
      ::_exit(EXIT_FAILURE);
    }}.detach(); // the process ends with _exit
    (void)end.release();
  } catch (const std::system_error&) { // no thread: the process ends only after the function
  }
}

void serve_functions(const served_functions& functions) {
  server calls{functions};
  if (!functions.refusal.empty())
    return calls.say(child_message::kind::refused, functions.refusal);
  calls.say(child_message::kind::ready);
  calls.serve();
}

} // namespace leat
