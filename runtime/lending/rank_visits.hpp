#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/network/certs/renewed_certificates.hpp"
#include "runtime/network/links/connected_peer.hpp"
#include "runtime/network/links/wake_event.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <list>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace leat {

/// Asks a coordinator where its ranks let others in. Throws as cluster_observer::look.
using find_ranks = std::function<std::vector<std::string>()>;

/// As what, and with what, a process dials.
struct visit_wish {
  /// "host:port" of a rank, or of a coordinator; empty: `find_ranks` knows without one.
  std::string join = {};
  link_role as = link_role::worker;
  std::string token = {};
  /// Names `join` in errors.
  std::string option = "worker.join";
  /// At a time: each has a thread.
  std::size_t most_ranks = 256;
  /// The coordinator is asked for its ranks once per second; true: in a large job more rarely, so
  /// that one that is asked by as many processes as it has ranks does not list all ranks to each.
  bool asks_rarely = true;
  std::function<void(const std::string&)> log = {};
};

/// A place where a rank may be, or the coordinator of some. Of one thread, but for the flags.
struct rank_line {
  rank_line(std::string place, const std::function<void(const std::string&)>& to)
      : address(std::move(place)), log(to) {}

  /// Leaves out what was logged last, since that may come again and again.
  void log_once(const std::string& text) {
    if (std::exchange(told, text) != text)
      log(text);
  }

  const std::string address;
  const std::function<void(const std::string&)>& log;
  std::string told = {};
  /// By a coordinator, so it is a rank's.
  bool is_named = false;
  std::atomic<bool> is_listed = true;
  std::atomic<bool> is_over = false;
  std::thread thread = {};
};

/// Dials a rank, or a coordinator and all the ranks that it names, again and again. Each of these
/// has a thread.
class rank_visits : not_copied {
public:
  struct calls {
    /// Begins the threads of the process, which `end` ends.
    std::function<void()> begin = {};
    /// As long as the rank is there. False if it did not want this process.
    std::function<bool(connected_peer, rank_line&)> help = {};
    /// False once all is to end.
    std::function<bool(std::int64_t time)> wait_until = {};
    /// Ends all.
    std::function<void()> end = {};
    const wake_event& stop;
  };

  /// All of it outlives this.
  rank_visits(visit_wish wish, const find_ranks& find, std::shared_ptr<renewed_certificates> own,
              calls made);

  /// Until all is to end; it has been told to end when this returns, or throws what `begin` throws,
  /// or the wish's `log` in any of the threads.
  void run();

private:
  void visit();
  void dial_and_help(rank_line& to);
  bool follow(rank_line& to);
  void help_those(const std::vector<std::string>& places, std::list<rank_line>& ranks);
  void fail(std::exception_ptr problem) noexcept;

  const visit_wish wish_;
  const find_ranks& find_;
  const std::shared_ptr<renewed_certificates> certificates_;
  const calls calls_;
  mutex mutex_;
  std::exception_ptr failure_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
