#pragma once

#include <leat/error.hpp>

#include <chrono>
#include <cstddef>
#include <functional>

namespace leat {

/// The caller does not want to wait any longer; the operation may be called again.
class patience_ended : public error {
public:
  patience_ended();
};

/// Asks the caller that this thread works for (see leat::patience), at most ten times a second.
/// Throws patience_ended.
void check_patience();
/// To be called by the function of a patience of this thread: asks the outer patience that it
/// replaced.
bool outer_caller_lasts();
/// When a wait must end so that the caller can be asked; a day from now if there is no caller.
std::chrono::steady_clock::time_point end_of_patience();

/// Runs `work` concurrently in this thread and in `threads` - 1 others, fewer if the system has no
/// more, and waits for all. Once this thread's caller gives up, check_patience() throws in all of
/// them, and this throws patience_ended when they have returned. `work` throws nothing else.
void run_in_threads(std::size_t threads, const std::function<void()>& work);

} // namespace leat
