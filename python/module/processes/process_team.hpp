#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"

#include "python/module/processes/process_calls.hpp"
#include "python/module/python.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace leat::python {

/// What processes are started with: see leat.processes.Recipe. The pipeline keeps it.
struct process_recipe {
  nb::handle made;
  /// "name@version" of the stage, or the source's name, for errors.
  std::string stage;
  std::size_t processes = 0;
};

/// A process that runs the functions of one stage. Used by one thread at a time.
class function_process : not_copied {
public:
  explicit function_process(const process_recipe& recipe) noexcept : recipe_(&recipe) {}
  ~function_process();

  /// Starts the process if there is none, and sends it calls of an operation. Throws
  /// `errc::no_resources`, and `errc::worker_lost` for functions that cannot be sent.
  void send(std::uint64_t operation, std::span<process_call> calls);
  /// Its next message; nothing if it has ended. Blocks unless `socket` is readable.
  std::optional<process_message> receive();
  /// The bytes of a message that was received.
  call_reader content(const process_message& x) const;
  int socket() const noexcept;
  /// How many of the calls that were sent have begun.
  std::uint64_t begun() const noexcept;

  /// Whether it has created its functions.
  bool is_ready() const noexcept { return is_ready_; }
  /// How it ended: "signal 11 (Segmentation fault)".
  struct exit {
    std::string text = {};
    bool was_killed = false;
  };
  /// Kills it if it lives.
  exit end();

private:
  struct channel {
    descriptor socket;
    shared_memory requests;
    shared_memory replies;
    nb::object process;
  };

  void begin();
  bool send_message(const process_message& x) const;

  const process_recipe* recipe_;
  std::unique_ptr<channel> channel_;
  bool is_ready_ = false;
};

/// The processes of one stage, for all workers that use it. They start with the first call.
class process_team : not_copied {
public:
  explicit process_team(process_recipe recipe);

  /// Makes these calls in several processes at once. A process that dies is replaced, and its calls
  /// are made again; for a call that kills two processes, throws `bad_sample` (function_error), or
  /// `errc::no_resources` if the kernel killed them. Throws what functions throw. Any thread.
  void call(std::uint64_t operation, std::span<process_call> calls);

  std::size_t size() const noexcept { return all_.size(); }
  const std::string& stage() const noexcept { return recipe_.stage; }
  /// Whether this process started them: the child of a fork must leave them alone.
  bool is_own() const noexcept;

  /// Waits for a process that no other thread uses; calls `waits` now and then meanwhile.
  function_process& take(const std::function<void()>& waits);
  function_process* try_take();
  void give_back(function_process& x);

private:
  process_recipe recipe_;
  int owner_;
  std::vector<std::unique_ptr<function_process>> all_;
  mutex mutex_;
  condition_variable given_back_;
  std::vector<function_process*> idle_ LEAT_GUARDED_BY(mutex_);
};

/// The team of a stage while loaders use it.
class process_pool {
public:
  explicit process_pool(process_recipe recipe) : recipe_(std::move(recipe)) {}

  std::shared_ptr<process_team> join();
  /// Keeps the team as long as the pool lives.
  std::shared_ptr<process_team> join_for_good();

private:
  process_recipe recipe_;
  mutex mutex_;
  std::weak_ptr<process_team> team_ LEAT_GUARDED_BY(mutex_);
  std::shared_ptr<process_team> held_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat::python
