#pragma once

#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace leat {

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
