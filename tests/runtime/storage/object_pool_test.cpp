#include "runtime/storage/object_pool.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/in_threads.hpp"

#include <atomic>
#include <memory>
#include <vector>

namespace leat::object_pool_test {
namespace {

/// Counts how many there are, and how they are used.
struct counted {
  static inline std::atomic<int> alive{0};

  counted() { ++alive; }
  ~counted() { --alive; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;

  bool renew() noexcept {
    users = 0;
    return !is_large;
  }

  std::atomic<int> users{0};
  bool is_large = false;
};

using counted_pool = object_pool<counted>;

} // namespace

TEST_CASE("object_pool: what came back is given out again, renewed, the last one first") {
  {
    const auto pool = std::make_shared<counted_pool>(4);
    auto first = pool->take();
    auto second = pool->take();
    REQUIRE(first != second);
    second->users = 3;
    const auto* const was = second.get();
    first.reset();
    second.reset();
    REQUIRE(counted::alive == 2);
    const auto again = pool->take();
    REQUIRE(again.get() == was);
    REQUIRE(again->users == 0);
    REQUIRE(counted::alive == 2);
  }
  REQUIRE(counted::alive == 0);
}

TEST_CASE("object_pool: what is too large, and what is too much, is freed") {
  const auto pool = std::make_shared<counted_pool>(2);
  std::vector<std::shared_ptr<counted>> taken;
  for (int i = 0; i < 5; ++i)
    taken.push_back(pool->take());
  REQUIRE(counted::alive == 5);
  taken.front()->is_large = true;
  taken.erase(taken.begin());
  REQUIRE(counted::alive == 4);
  taken.clear();
  REQUIRE(counted::alive == 2);
}

TEST_CASE("object_pool: objects outlive the pool, and are freed with the last of them") {
  auto pool = std::make_shared<counted_pool>(4);
  auto first = pool->take();
  auto second = pool->take();
  pool.reset();
  first.reset();
  REQUIRE(second->users == 0);
  second.reset();
  REQUIRE(counted::alive == 0);
}

TEST_CASE("object_pool: many threads never have the same object at once") {
  const auto pool = std::make_shared<counted_pool>(3);
  std::atomic<int> shared{0};
  test::in_threads(4, [&](unsigned) {
    for (int i = 0; i < 2000; ++i)
      shared += pool->take()->users.fetch_add(1) == 0 ? 0 : 1;
  });
  REQUIRE(shared == 0);
  REQUIRE(counted::alive <= 3);
}

} // namespace leat::object_pool_test
