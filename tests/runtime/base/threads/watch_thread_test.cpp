#include "runtime/base/call_record.hpp"
#include "runtime/base/threads/watch_thread.hpp"
#include "tests/support/test.hpp"

#include <semaphore>

namespace leat::watch_thread_test {
namespace {

using namespace std::chrono_literals;

TEST_CASE("watch_thread: it calls each function again and again, until its registration goes") {
  std::counting_semaphore<1000> first{0};
  std::counting_semaphore<1000> second{0};
  auto a = watch_thread::add(1ms, [&] { first.release(); });
  {
    const auto b = watch_thread::add(2ms, [&] { second.release(); });
    for (int i = 0; i < 3; ++i) {
      first.acquire();
      second.acquire();
    }
  }
  while (second.try_acquire())
    ;
  for (int i = 0; i < 5; ++i)
    first.acquire();
  CHECK_FALSE(second.try_acquire());
  a = {};
  CHECK_FALSE(a);
}

TEST_CASE("watch_thread: a function that hangs delays only the end of its own registration") {
  std::binary_semaphore entered{0};
  std::binary_semaphore go_on{0};
  std::atomic<bool> has_returned{false};
  auto hanging = std::make_optional(watch_thread::add(1ms, [&] {
    if (has_returned)
      return;
    entered.release();
    go_on.acquire();
    has_returned = true;
  }));
  entered.acquire();
  {
    const auto other = watch_thread::add(1ms, [] {}); // comes and goes meanwhile
  }
  std::thread releaser{[&] { go_on.release(); }};
  hanging.reset();
  CHECK(has_returned);
  releaser.join();
}

TEST_CASE("watch_thread: what a function throws ends nothing, and it is called again") {
  std::counting_semaphore<1000> calls{0};
  const auto x = watch_thread::add(1ms, [&] {
    calls.release();
    throw std::runtime_error("mine");
  });
  for (int i = 0; i < 3; ++i)
    calls.acquire();
}

TEST_CASE("watch_thread: many come and go at once") {
  std::atomic<int> calls{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 50; ++k) {
        auto x = watch_thread::add(1ms, [&] { ++calls; });
        auto y = std::move(x);
      }
    });
}

TEST_CASE("call_record: the call that runs is known, and how long it is known at least") {
  const std::string stage = "filter a@1";
  call_record record;
  call_watch watch;
  CHECK_FALSE(record.running());
  CHECK_FALSE(watch.look(record, 10, 5));
  CHECK(watch.since_ns() == 10);
  {
    const call_record::scope call{record, stage, 3};
    REQUIRE(record.running());
    CHECK(*record.running()->stage == stage);
    CHECK(record.running()->lane == 3);
    CHECK_FALSE(watch.look(record, 20, 5)); // seen for the first time
    CHECK_FALSE(watch.look(record, 24, 5));
    CHECK(watch.look(record, 25, 5));
    CHECK(watch.since_ns() == 20);
  }
  CHECK_FALSE(watch.look(record, 30, 5));
  const call_record::scope next{record, stage, 3};
  CHECK_FALSE(watch.look(record, 40, 5)); // another call of the same
  CHECK(watch.look(record, 45, 5));
}

} // namespace
} // namespace leat::watch_thread_test
