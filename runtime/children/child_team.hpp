#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/children/function_process.hpp"

#include <leat/child_functions.hpp>

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace leat {

/// The processes of one stage, for all workers that use it. They start with the first call.
class child_pool::team : not_copied {
public:
  explicit team(child_recipe recipe);

  /// Makes these calls in several processes at once, and again where processes end: see
  /// dealt_calls. Throws what functions throw; `bad_sample` (killed), `errc::no_resources` or
  /// `errc::worker_lost` by its verdicts. Any thread.
  void call(std::uint64_t operation, std::span<function_call> calls);

  std::size_t size() const noexcept { return all_.size(); }
  const child_recipe& recipe() const noexcept { return recipe_; }
  /// Whether this process started them: the child of a fork must leave them alone.
  bool is_own() const noexcept;

  /// Waits for a process that no other thread uses; calls `waits` now and then meanwhile.
  function_process& take(const std::function<void()>& waits);
  function_process* try_take();
  void give_back(function_process& x);

private:
  child_recipe recipe_;
  pid_t owner_;
  std::vector<std::unique_ptr<function_process>> all_;
  mutex mutex_;
  condition_variable given_back_;
  std::vector<function_process*> idle_ LEAT_GUARDED_BY(mutex_);
};

} // namespace leat
