#pragma once

#include <leat/loader.hpp>

#include "python/module/callables.hpp"
#include "python/module/passes.hpp"
#include "python/module/python.hpp"
#include "python/module/without_gil.hpp"
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace leat::python {

/// A loader with what Python needs beside it.
class loader_value {
public:
  /// Takes the pipeline's objects along. Holds the GIL; releases it while the data is opened.
  loader_value(nb::handle data, loader_options options, kept_objects kept);
  ~loader_value();
  loader_value(const loader_value&) = delete;
  loader_value& operator=(const loader_value&) = delete;

  /// Calls a member of the loader without the GIL. Two threads at a time are refused.
  template <class Call>
  auto call(Call what) {
    const in_use used{*this};
    auto& job = get();
    return without_gil([&] { return std::invoke(what, job); });
  }
  /// For members that any thread may call.
  loader& get();
  /// Ends the loader and waits for its threads, unless what a signal's handler raises comes out;
  /// interrupts a thread that is in a call.
  void close() { end(no_limit); }
  /// As close(), at any moment; what a handler raises is raised later. It waits for a second at
  /// most: functions that still run are then waited for by the interpreter's end, and by shutdown.
  void close_quietly() noexcept;
  bool is_closed() const noexcept { return !job_; }
  std::string repr() const;
  /// Batches of the whole job. Throws TypeError where they are not known beforehand.
  std::uint64_t num_batches();
  /// Throws InvalidArgument where something else would give the batches out once more: see
  /// leat/_refusals.py.
  void check_place();
  /// Interrupts the thread that is in a call; gives what that thread resets. Null in the child of a
  /// fork, which does not have that thread.
  std::shared_ptr<std::atomic<bool>> interrupt_user();

  kept_objects kept;
  /// Not checked yet in this process.
  bool is_place_new = true;
  passes loops;

private:
  void end(std::chrono::seconds most);

  class in_use {
  public:
    explicit in_use(loader_value& of);
    ~in_use();
    in_use(const in_use&) = delete;
    in_use& operator=(const in_use&) = delete;

  private:
    const std::shared_ptr<std::atomic<bool>> used_;
  };

  const std::uint64_t rank_;
  const std::uint64_t world_size_;
  const std::uint64_t epochs_;
  const std::uint64_t steps_;
  bool is_endless_ = false;
  std::string text_;
  std::optional<loader> job_;
  /// Outlives the loader, for the interpreter's end, which waits for the thread that uses it.
  std::shared_ptr<std::atomic<bool>> is_used_ = std::make_shared<std::atomic<bool>>(false);
  const pid_t process_ = getpid();
};

/// This process's number among the ranks. One that is left out is 0 of 1: of more, each would take
/// the same rows.
std::uint64_t rank_among(const std::optional<std::uint64_t>& rank, std::uint64_t world_size);

/// Statistics as a dict; times in seconds.
nb::dict dict_of(const loader_stats& x);

/// Steps that are left out, and weights that change.
void bind_changes_of_order(nb::class_<loader_value>& type);

/// How a loader takes its place among the ranks of a cluster.
void bind_place_in_cluster(nb::class_<loader_value>& type);

/// Before the interpreter ends: closes all loaders, and lets no thread call Python afterwards.
void end_loaders();

} // namespace leat::python
