#pragma once

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace leat {

/// The C library ends the process where it has no memory for the end of an object of a thread
/// ("failed to register TLS destructor"), and where it has none for the objects of a library that
/// was loaded late. Throws std::bad_alloc while there may be too little for that.
void check_room_for_first_use();

/// The T of the calling thread, made at its first call. Throws std::bad_alloc, and what the
/// constructor throws.
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

/// Begins a new thread. Throws `errc::no_resources` if the machine gives no more of them, or has no
/// memory for what a thread cannot do without; `stage` says what it was for. `touch`, which may be
/// null, uses for the first time whatever belongs to the thread and is not of_this_thread(). A file
/// that reaches its size limit is an error of the write in the thread, like a full disk, and kills
/// no process (SIGXFSZ is blocked).
std::thread begin_thread(const std::string& stage, std::function<void()> run,
                         void (*touch)() noexcept = nullptr);

/// Threads that are waited for at the end.
class joined_threads {
public:
  joined_threads() = default;
  ~joined_threads() { join(); }
  joined_threads(const joined_threads&) = delete;
  joined_threads& operator=(const joined_threads&) = delete;

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
