#include "runtime/base/threads/blocking_queue.hpp"
#include "runtime/base/threads/gate.hpp"
#include "tests/support/test.hpp"

namespace leat::blocking_queue_test {
namespace {

using namespace std::chrono_literals;
using std::chrono::steady_clock;

TEST_CASE("blocking_queue: values come out in order, and none when there is none") {
  blocking_queue<std::unique_ptr<int>> x;
  CHECK_FALSE(x.try_pop());
  CHECK_FALSE(x.pop_until(steady_clock::now()));
  x.push(std::make_unique<int>(1));
  x.push(std::make_unique<int>(2));
  CHECK(**x.try_pop() == 1);
  CHECK(**x.pop_until(steady_clock::now()) == 2);
  CHECK_FALSE(x.try_pop());
}

TEST_CASE("blocking_queue: nothing is lost or repeated between threads") {
  constexpr int pushers = 4;
  constexpr int each = 2000;
  blocking_queue<std::pair<int, int>> x;
  std::vector<std::thread> threads;
  for (int id = 0; id < pushers; ++id)
    threads.emplace_back([&x, id] {
      for (int i = 0; i < each; ++i)
        x.push({id, i});
    });
  std::vector<int> next(pushers);
  for (int i = 0; i < pushers * each; ++i) {
    auto value = x.pop_until(steady_clock::now() + 20s);
    REQUIRE(value);
    REQUIRE(value->second == next[static_cast<std::size_t>(value->first)]++);
  }
  for (auto& t : threads)
    t.join();
  CHECK_FALSE(x.try_pop());
}

TEST_CASE("gate: it waits until the last token is gone, wherever it went") {
  auto count = std::make_shared<gate>();
  CHECK(count->wait_for_none(0s));
  std::optional<gate_token> first{count};
  gate_token second{count};
  gate_token moved{std::move(*first)};
  first.reset();
  CHECK_FALSE(count->wait_for_none(0s));
  moved = gate_token{};
  CHECK_FALSE(count->wait_for_none(0s));
  std::thread owner{[held = std::move(second)]() mutable { gate_token end{std::move(held)}; }};
  CHECK(count->wait_for_none(20s));
  owner.join();
}

} // namespace
} // namespace leat::blocking_queue_test
