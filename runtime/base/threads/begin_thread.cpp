#include "runtime/base/threads/begin_thread.hpp"

#include "runtime/base/threads/mutex.hpp"

#include <leat/error.hpp>

#include <cxxabi.h>
#include <pthread.h>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

namespace leat {

namespace {

error no_thread(const std::string& stage, const std::string& why) {
  return {errc::no_resources,
          {.stage = stage,
           .got = "no more threads (" + why + ")",
           .needed = "one more: check the limits on threads and memory of this process, its user "
                     "(ulimit -u) and its container (pids.max)"}};
}

void block_file_size_signal() noexcept {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

/// Passes the outcome of a thread's start to the thread that created it and waits.
class beginning {
public:
  void tell(bool is_good) {
    const mutex_lock lock{mutex_};
    is_good_ = is_good;
    told_.notify_all(); // under the lock: once it is released, this object may be gone
  }
  bool wait() {
    mutex_lock lock{mutex_};
    while (!is_good_)
      told_.wait(mutex_);
    return *is_good_;
  }

private:
  mutex mutex_;
  condition_variable told_;
  std::optional<bool> is_good_ LEAT_GUARDED_BY(mutex_);
};

/// The thread-local memory of a library that was loaded late is allocated at its first use, and the
/// C library ends the process if that fails. So this uses it for the first time: this library's
/// objects, and what the C++ runtime needs for exceptions. The constructor attribute does the same
/// for the thread that loads this library.
[[gnu::constructor]] void touch_thread_objects() noexcept {
  // Volatile, so that the compiler does not leave out an unused object.
  [[maybe_unused]] thread_local constinit const void* volatile last = nullptr;
  last = abi::__cxa_get_globals();
}

bool has_room_for_first_use() noexcept {
  // Much more than is needed, as other threads may take some of it meanwhile, but less than the
  // size from which malloc maps memory separately and returns it to the system on free.
  constexpr std::size_t room = std::size_t{64} << 10;
  void* const volatile x = std::malloc(room); // volatile, or the compiler may drop both calls
  std::free(x);
  return x;
}

/// Does not throw: a thread's first exception is itself one of the things that need room.
bool can_begin(void (*touch)() noexcept) noexcept {
  if (!has_room_for_first_use())
    return false;
  touch_thread_objects();
  if (touch)
    touch();
  return true;
}

} // namespace

void check_room_for_first_use() {
  if (!has_room_for_first_use())
    throw std::bad_alloc{};
}

std::thread begin_thread(const std::string& stage, std::function<void()> run,
                         void (*touch)() noexcept) {
  beginning begun;
  std::thread thread;
  try {
    thread = std::thread{[&begun, touch, run = std::move(run)] {
      block_file_size_signal();
      const bool is_good = can_begin(touch);
      begun.tell(is_good);
      if (is_good)
        run();
    }};
  } catch (const std::system_error& problem) {
    throw no_thread(stage, problem.what());
  }
  if (begun.wait())
    return thread;
  thread.join();
  throw no_thread(stage, "no more memory");
}

} // namespace leat
