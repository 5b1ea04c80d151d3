#include "runtime/base/threads/mutex.hpp"
#include "tests/support/test.hpp"

namespace leat::mutex_test {
namespace {

/// A number that one thread counts up and for which others wait.
class counter {
public:
  void add() {
    mutex_lock lock{mutex_};
    ++n_;
    changed_.notify_all();
  }
  /// Returns what it found, with the mutex held.
  int wait_for(int least) {
    mutex_lock lock{mutex_};
    while (n_ < least)
      changed_.wait(mutex_);
    return n_;
  }
  /// False if the number has not been reached by then.
  template <class Time>
  bool wait_for(int least, Time deadline) {
    mutex_lock lock{mutex_};
    while (n_ < least && changed_.wait_until(mutex_, deadline)) {
    }
    return n_ >= least;
  }
  /// Lets others count between two of its own.
  template <class Function>
  int add_around(Function between) {
    mutex_lock lock{mutex_};
    ++n_;
    lock.unlock();
    between();
    lock.lock();
    return ++n_;
  }

private:
  mutex mutex_;
  condition_variable changed_;
  int n_ LEAT_GUARDED_BY(mutex_) = 0;
};

TEST_CASE("mutex: threads that wait see what others did with it held") {
  counter x;
  std::vector<std::thread> others;
  for (int i = 0; i < 3; ++i)
    others.emplace_back([&] {
      for (int n = 0; n < 100; ++n)
        x.add();
      x.wait_for(300);
    });
  REQUIRE(x.wait_for(300) == 300);
  for (auto& thread : others)
    thread.join();
}

TEST_CASE("mutex: a wait with a deadline ends then, or before, when it is notified") {
  counter x;
  REQUIRE_FALSE(x.wait_for(1, std::chrono::steady_clock::now()));
  std::thread other{[&] { x.add(); }};
  REQUIRE(x.wait_for(1, std::chrono::steady_clock::now() + std::chrono::hours{1}));
  other.join();
  REQUIRE(x.wait_for(1, std::chrono::steady_clock::now())); // reached already: nobody waits
}

TEST_CASE("mutex: a lock that is given up amid can be had by others, and is given up once") {
  counter x;
  REQUIRE(x.add_around([&] { std::thread{[&] { x.add(); }}.join(); }) == 3);
  x.add();
  REQUIRE(x.wait_for(4) == 4);
}

} // namespace
} // namespace leat::mutex_test
