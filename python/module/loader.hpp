#pragma once

#include "runtime/base/not_copied.hpp"

#include <leat/loader.hpp>
#include <leat/notice.hpp>

#include "python/module/callables.hpp"
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

/// Watches the loops over one loader: a second loop, after the last batch, would silently get
/// nothing.
class passes {
public:
  void begin() { is_late_ = is_over_; }
  /// Records whether the loop got a batch or the end.
  void got(bool some) {
    if (!some && is_late_ && !is_told_) {
      is_told_ = true;
      notice("loader: this loop got no batch, since the one before it had the last: a loop goes "
             "through all epochs of the job, so give their number to the loader (epochs=3); "
             "batch.end_of_epoch says where one ends");
    }
    is_late_ = is_late_ && !some;
    is_over_ = !some;
  }

private:
  bool is_over_ = false;
  bool is_late_ = false;
  bool is_told_ = false;
};

/// A loader with what Python needs in addition.
class loader_value : not_copied {
public:
  /// Keeps the pipeline's objects, too. Holds the GIL, but releases it while the data is opened.
  loader_value(nb::handle data, loader_options options, kept_objects kept);
  ~loader_value();

  /// Calls a member of the loader without the GIL. Refuses a second thread at the same time.
  template <class Call>
  auto call(Call what) {
    const in_use used{*this};
    auto& job = get();
    return without_gil([&] { return std::invoke(what, job); });
  }
  /// For members that any thread may call.
  loader& get();
  /// Ends the loader and waits for its threads, unless a signal's handler raises something, which
  /// this throws. If another thread is in a call, only interrupts that.
  void close() { end(no_limit); }
  /// Like close(), but may be called at any time; what a handler raises is raised later. It waits
  /// for at most a second: shutdown and the end of the interpreter wait for functions that still
  /// run.
  void close_quietly() noexcept;
  bool is_closed() const noexcept { return !job_; }
  std::string repr() const;
  /// Number of batches of the whole job. Throws TypeError if it is not known beforehand.
  std::uint64_t num_batches();
  /// Throws InvalidArgument if something else would hand out the batches a second time: see
  /// leat/_refusals.py.
  void check_place();
  /// Interrupts the thread that is in a call, and returns the flag that the thread resets on
  /// return. Null in the child of a fork, which does not have that thread.
  std::shared_ptr<std::atomic<bool>> interrupt_user();

  kept_objects kept;
  /// Whether check_place() is still due in this process.
  bool is_place_new = true;
  passes loops;

private:
  void end(std::chrono::seconds most);

  class in_use : not_copied {
  public:
    explicit in_use(loader_value& of);
    ~in_use();

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
  /// Outlives the loader: the end of the interpreter waits for the thread that uses the loader.
  std::shared_ptr<std::atomic<bool>> is_used_ = std::make_shared<std::atomic<bool>>(false);
  const pid_t process_ = getpid();
};

/// A member of the loader as one of Python, called without the GIL.
template <class Result, class... Args>
auto called(Result (loader::*member)(Args...)) {
  return [member](loader_value& x, Args... args) {
    return x.call([&](loader& job) { return (job.*member)(args...); });
  };
}
template <class Result, class... Args>
auto called(Result (loader::*member)(Args...) const) {
  return [member](loader_value& x, Args... args) {
    return x.call([&](loader& job) { return (job.*member)(args...); });
  };
}

/// This process's rank. If it is left out, it is 0 of 1; with more ranks that is an error, since
/// each process would take the same rows.
std::uint64_t rank_among(const std::optional<std::uint64_t>& rank, std::uint64_t world_size);

/// The leat.position.Position of a place.
nb::object position_of(const resume_point& x);

/// Statistics as a dict; times in seconds.
nb::dict dict_of(const loader_stats& x);
/// What the inputs of mixes gave, as a list of dicts.
nb::list list_of(const std::vector<mix_counts>& mixes);
/// Numbers of bad samples by cause, also those that are 0.
nb::dict dict_of(const bad_counts& x);

/// Binds the members that leave out steps and change weights.
void bind_changes_of_order(nb::class_<loader_value>& type);

/// Binds the members by which a loader takes its place among the ranks of a cluster.
void bind_place_in_cluster(nb::class_<loader_value>& type);

/// Called before the interpreter ends: closes all loaders, and lets no thread call Python
/// afterwards.
void end_loaders();

} // namespace leat::python
