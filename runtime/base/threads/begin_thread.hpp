#pragma once

#include "runtime/base/not_copied.hpp"

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace leat {

/// The C library ends the process if it has no memory to register the destructor of a thread-local
/// object ("failed to register TLS destructor") or for the thread-local objects of a library that
/// was loaded late. Throws std::bad_alloc if there may be too little for that.
void check_room_for_first_use();

/// The T of the calling thread, constructed at the thread's first call. Throws std::bad_alloc, and
/// what the constructor throws.
template <class T>
T& of_this_thread() {
  thread_local constinit T* known = nullptr;
  if (!known) {
    check_room_for_first_use();
    thread_local T x;
    known = &x;
  }
  return *known;
}

/// Begins a new thread. Throws `errc::no_resources`, with this `stage`, if the machine gives no
/// more threads, or has no memory for what a thread cannot do without. `touch`, which may be null,
/// makes the first use of whatever is thread-local other than through of_this_thread(). A file that
/// reaches its size limit makes the write fail, like a full disk, and does not kill the process
/// (SIGXFSZ is blocked in the thread).
std::thread begin_thread(const std::string& stage, std::function<void()> run,
                         void (*touch)() noexcept = nullptr);

/// Threads that the destructor joins.
class joined_threads : not_copied {
public:
  ~joined_threads() { join(); }

  /// Begins one more; throws as begin_thread.
  void add(const std::string& stage, std::function<void()> run) {
    all_.reserve(all_.size() + 1);
    all_.push_back(begin_thread(stage, std::move(run)));
  }
  void join() noexcept {
    for (auto& x : all_)
      x.join();
    all_.clear();
  }

private:
  std::vector<std::thread> all_;
};

} // namespace leat
