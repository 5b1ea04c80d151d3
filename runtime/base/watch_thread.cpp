#include "runtime/base/watch_thread.hpp"

#include "runtime/base/begin_thread.hpp"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <utility>
#include <vector>

namespace leat {

using std::chrono::steady_clock;

struct watch_thread::entry {
  entry(std::chrono::milliseconds interval_, std::function<void()> look_)
      : interval(interval_), due(steady_clock::now() + interval_), look(std::move(look_)) {}

  void call() {
    std::lock_guard lock{mutex};
    try {
      if (look)
        look();
    } catch (...) { // it has told whom it could
    }
  }
  void end() {
    std::lock_guard lock{mutex};
    look = nullptr;
  }

  const std::chrono::milliseconds interval;
  /// Guarded by the shared mutex.
  steady_clock::time_point due;
  /// Held during a call: the others' calls and registrations do not wait for it.
  std::mutex mutex;
  std::function<void()> look;
};

class watch_thread::shared {
public:
  using entry_ptr = std::shared_ptr<entry>;

  shared() : thread_(begin_thread("stuck_after", [this] { run(); })) {}
  ~shared() {
    {
      std::lock_guard lock{mutex_};
      stopping_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  shared(const shared&) = delete;
  shared& operator=(const shared&) = delete;

  void add(entry_ptr x) {
    std::lock_guard lock{mutex_};
    entries_.push_back(std::move(x));
    changed_.notify_all();
  }
  void remove(const entry_ptr& x) {
    std::lock_guard lock{mutex_};
    entries_.erase(std::remove(entries_.begin(), entries_.end(), x), entries_.end());
  }

  /// The one of the process; made where there is none.
  static std::shared_ptr<shared> get() {
    static std::mutex mutex;
    static std::weak_ptr<shared> of_process;
    std::lock_guard lock{mutex};
    auto x = of_process.lock();
    if (!x)
      of_process = x = std::make_shared<shared>();
    return x;
  }

private:
  void run() {
    std::unique_lock lock{mutex_};
    while (!stopping_) {
      if (entries_.empty()) {
        changed_.wait(lock);
        continue;
      }
      const auto next = *std::min_element(entries_.begin(), entries_.end(),
                                          [](auto& a, auto& b) { return a->due < b->due; });
      if (steady_clock::now() < next->due) {
        changed_.wait_until(lock, next->due);
        continue;
      }
      lock.unlock();
      next->call();
      lock.lock();
      next->due = steady_clock::now() + next->interval;
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<entry_ptr> entries_;
  bool stopping_ = false;
  /// Last: it uses all others.
  std::thread thread_;
};

struct watch_thread::registration::state {
  std::shared_ptr<shared> thread;
  std::shared_ptr<entry> what;
};

watch_thread::registration::registration() noexcept = default;

watch_thread::registration::registration(registration&& other) noexcept = default;

watch_thread::registration& watch_thread::registration::operator=(registration&& other) noexcept {
  registration taken{std::move(other)};
  std::swap(state_, taken.state_);
  return *this;
}

watch_thread::registration::~registration() {
  if (!state_)
    return;
  state_->thread->remove(state_->what);
  state_->what->end();
}

watch_thread::registration watch_thread::add(std::chrono::milliseconds interval,
                                             std::function<void()> look) {
  registration x;
  x.state_.reset(
      new registration::state{shared::get(), std::make_shared<entry>(interval, std::move(look))});
  // Last: whatever fails before leaves nothing that is called.
  x.state_->thread->add(x.state_->what);
  return x;
}

} // namespace leat
