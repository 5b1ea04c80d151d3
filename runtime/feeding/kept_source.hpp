#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/feeding/feed_settings.hpp"
#include "runtime/lending/rank_visits.hpp"

#include <leat/error.hpp>

#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

namespace leat {

class feed_node;

/// A source of this process, which it serves to all ranks of its job while it is rank 0: by a
/// feed_node, and another one each time it becomes rank 0 again. Nothing is read or opened before.
class kept_source : not_copied {
public:
  struct settings {
    /// Its `stop` is set here.
    feed_settings feed = {};
    /// Where ranks are; called about once a second while it serves.
    find_ranks find = {};
    /// False while another process may be rank 0. Any thread.
    std::function<bool()> is_first = {};
    /// Hears why the source cannot be served, whatever is waited for. Called in a thread of its
    /// own.
    std::function<void(const std::string&)> failed = {};
  };

  explicit kept_source(settings chosen);
  /// Waits for a function of the program that is being called; says so if that takes long.
  ~kept_source();

  /// This process is rank 0: it serves until `let_go`. While another process may be rank 0, the
  /// journal is closed, so that this one can open it; without a journal, records stay in memory.
  /// A journal that somebody else uses is waited for. Throws `errc::no_resources`.
  void serve();
  /// This process is another rank. Records without a journal are lost.
  void let_go() noexcept;

private:
  class noted_node;

  void run();
  bool serve_until_stopped(const std::stop_token& stop);
  void note_node(const feed_node* x) noexcept;
  void fail(const error& problem) noexcept;
  std::vector<std::string> places();
  void wait_a_moment();

  const settings settings_;
  mutex mutex_;
  condition_variable changed_;
  bool is_wanted_ LEAT_GUARDED_BY(mutex_) = false;
  /// There is a node, or there is to be one. It is null before it is there, and once it goes.
  bool is_serving_ LEAT_GUARDED_BY(mutex_) = false;
  const feed_node* node_ LEAT_GUARDED_BY(mutex_) = nullptr;
  /// Said while that one ended: another one is to follow it.
  bool is_wanted_again_ LEAT_GUARDED_BY(mutex_) = false;
  bool is_ending_ LEAT_GUARDED_BY(mutex_) = false;
  bool has_ended_ LEAT_GUARDED_BY(mutex_) = false;
  /// Ends the node that there is.
  std::stop_source stop_ LEAT_GUARDED_BY(mutex_);
  /// What the journal that is waited for has said: once is enough.
  std::string told_;
  std::thread thread_;
};

} // namespace leat
