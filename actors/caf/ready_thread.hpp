#pragma once

#include "actors/caf/control_threads.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/begin_thread.hpp"

#include <functional>
#include <future>
#include <string>
#include <thread>
#include <utility>

namespace leat {

/// A thread that waits for its function: made before anything that cannot do without it.
class ready_thread : not_copied {
public:
  /// Throws `errc::no_resources`; `stage` says what it is for.
  explicit ready_thread(const std::string& stage)
      : thread_(begin_thread(
          stage, [what = what_.get_future().share()] { what.get()(); }, drop_logger)) {}
  /// Waits until it has ended; one without a function ends at once.
  ~ready_thread() {
    if (!is_told_)
      what_.set_value([] {});
    thread_.join();
  }

  /// Once. What it runs must not throw.
  void run(std::function<void()> what) {
    what_.set_value(std::move(what));
    is_told_ = true;
  }
  std::thread::id id() const noexcept { return thread_.get_id(); }

private:
  std::promise<std::function<void()>> what_;
  bool is_told_ = false;
  std::thread thread_;
};

} // namespace leat
