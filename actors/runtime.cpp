#include "actors/lease_desk.hpp"
#include "actors/runtime_core.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/threads/fork_check.hpp"
#include "runtime/base/threads/mutex.hpp"

#include <leat/runtime.hpp>

#include <utility>

namespace leat {

namespace {

constexpr std::size_t most_control_threads = 256;

/// Stays until the process ends, and so do its threads unless somebody shuts it down.
struct process_runtime {
  mutex guard;
  std::shared_ptr<runtime> now LEAT_GUARDED_BY(guard);

  static process_runtime& get() {
    static auto* const x = new process_runtime;
    return *x;
  }
};

} // namespace

runtime::runtime(runtime_options options) : core_(std::make_shared<runtime_core>(options)) {
  check_range("runtime.control_threads", options.control_threads, 1, most_control_threads);
}

runtime::~runtime() {
  shutdown();
  if (is_maimed_by_fork())
    leave_to_parent(std::move(core_));
}

void runtime::shutdown() noexcept {
  if (!is_maimed_by_fork())
    core_->shutdown();
}

std::shared_ptr<runtime> runtime::of_process() {
  auto& own = process_runtime::get();
  const mutex_lock lock{own.guard};
  if (!own.now || own.now->core_->is_shut_down())
    own.now = std::make_shared<runtime>();
  return own.now;
}

void shutdown() noexcept {
  if (is_maimed_by_fork())
    return;
  auto& own = process_runtime::get();
  std::shared_ptr<runtime> now;
  {
    const mutex_lock lock{own.guard};
    now = own.now;
  }
  if (now)
    now->shutdown();
}

} // namespace leat
