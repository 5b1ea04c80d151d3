#pragma once

#include <leat/error.hpp>

#include <chrono>
#include <cstddef>
#include <functional>

namespace leat {

/// The caller does not want to wait any longer; what was begun may be begun again.
class patience_ended : public error {
public:
  patience_ended();
};

/// Asks the caller that this thread works for (see leat::patience), at most ten times a second.
/// Throws patience_ended.
void check_patience();
/// For a function that a patience of this thread asks: asks the outer one, whose place it took.
bool outer_caller_lasts();
/// When a wait must end, so that the caller can be asked; a day from now if there is none to ask.
std::chrono::steady_clock::time_point end_of_patience();

/// Runs `work` in this thread and in up to `threads` - 1 others at a time, and waits for all: fewer
/// if the system has no more. Once this thread's caller gives up, check_patience() throws in all of
/// them, and this throws patience_ended when they have returned. `work` throws nothing else.
void run_in_threads(std::size_t threads, const std::function<void()>& work);

} // namespace leat
