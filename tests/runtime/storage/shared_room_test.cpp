#include "runtime/storage/shared_room.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/random_text.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace leat::shared_room_test {
namespace {

/// Bytes that live as long as this.
struct held {
  shared_room::place in;
  std::size_t size;
  std::byte filled_with;

  std::span<std::byte> bytes() const { return {in.at, size}; }
  bool is_unchanged() const {
    return std::all_of(bytes().begin(), bytes().end(), [&](auto x) { return x == filled_with; });
  }
};

} // namespace

TEST_CASE("shared_room: nobody writes into what somebody holds, in whatever order it is dropped") {
  test::seeded_random random;
  constexpr std::size_t most[] = {1, 100, 5000, 40'000};
  std::vector<held> all;
  std::optional<shared_room> room{std::in_place, 4};
  for (int i = 0; i < 5000; ++i) {
    const std::size_t size = random() % most[random() % std::size(most)];
    auto& x = all.emplace_back(held{room->take(size), size, static_cast<std::byte>(random())});
    REQUIRE(reinterpret_cast<std::uintptr_t>(x.in.at) % alignof(std::max_align_t) == 0);
    std::fill(x.bytes().begin(), x.bytes().end(), x.filled_with);
    while (all.size() > 60) {
      std::swap(all[random() % all.size()], all.back());
      REQUIRE(all.back().is_unchanged());
      all.pop_back();
    }
  }
  room.reset(); // what it gave outlives it
  for (const auto& x : all)
    REQUIRE(x.is_unchanged());
}

TEST_CASE("shared_room: small things lie behind each other, and their block is used again") {
  shared_room room{4};
  const auto* const first = room.take(100).at;
  {
    const auto second = room.take(1);
    REQUIRE(second.at == first + shared_room::aligned(100));
  }
  // Nobody holds any part of the block, so the next place that does not fit after these reuses it.
  const std::byte* last = first;
  std::size_t taken = 0;
  do {
    last = room.take(1000).at;
    taken += 1000;
    REQUIRE(taken < 2 * shared_room::block_bytes);
  } while (last != first);
}

} // namespace leat::shared_room_test
