#include "runtime/base/threads/watch_thread.hpp"

#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/base/threads/mutex.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace leat {

using std::chrono::steady_clock;

class watch_thread::entry {
public:
  entry(std::chrono::milliseconds interval_, std::function<void()> look)
      : interval(interval_), due(steady_clock::now() + interval_), look_(std::move(look)) {}

  void call() {
    mutex_lock lock{calling_};
    try {
      if (look_)
        look_();
    } catch (...) { // it has reported what it could
    }
  }
  void end() {
    mutex_lock lock{calling_};
    look_ = nullptr;
  }

  const std::chrono::milliseconds interval;
  /// Guarded by the mutex of `shared`, which cannot be named in an annotation here.
  steady_clock::time_point due;

private:
  /// Held during a call. One mutex per entry, so that other registrations do not wait for the call.
  mutex calling_;
  std::function<void()> look_ LEAT_GUARDED_BY(calling_);
};

class watch_thread::shared {
public:
  using entry_ptr = std::shared_ptr<entry>;

  shared() : thread_(begin_thread("stuck_after", [this] { run(); })) {}
  ~shared() {
    {
      mutex_lock lock{mutex_};
      stopping_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  shared(const shared&) = delete;
  shared& operator=(const shared&) = delete;

  void add(entry_ptr x) {
    mutex_lock lock{mutex_};
    entries_.push_back(std::move(x));
    changed_.notify_all();
  }
  void remove(const entry_ptr& x) {
    mutex_lock lock{mutex_};
    entries_.erase(std::remove(entries_.begin(), entries_.end(), x), entries_.end());
  }

  /// The one of this process, created if it does not exist.
  static std::shared_ptr<shared> get() {
    static mutex making;
    static std::weak_ptr<shared> of_process;
    mutex_lock lock{making};
    auto x = of_process.lock();
    if (!x)
      of_process = x = std::make_shared<shared>();
    return x;
  }

private:
  void run() {
    mutex_lock lock{mutex_};
    while (!stopping_) {
      if (entries_.empty()) {
        changed_.wait(mutex_);
        continue;
      }
      const auto next = *std::min_element(entries_.begin(), entries_.end(),
                                          [](auto& a, auto& b) { return a->due < b->due; });
      if (steady_clock::now() < next->due) {
        changed_.wait_until(mutex_, next->due);
        continue;
      }
      lock.unlock(); // the function may take long; `next` keeps an entry alive that is removed now
      next->call();
      lock.lock();
      next->due = steady_clock::now() + next->interval;
    }
  }

  mutex mutex_;
  condition_variable changed_;
  std::vector<entry_ptr> entries_ LEAT_GUARDED_BY(mutex_);
  bool stopping_ LEAT_GUARDED_BY(mutex_) = false;
  /// The last member: the thread uses all the others.
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
  // The last step, so that nothing is registered if anything before it fails.
  x.state_->thread->add(x.state_->what);
  return x;
}

} // namespace leat
