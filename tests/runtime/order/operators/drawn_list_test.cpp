#include "runtime/order/operators/drawn_list.hpp"
#include "tests/support/test.hpp"

namespace leat::drawn_list_test {
namespace {

using numbers = std::vector<std::uint32_t>;

numbers all_of(const drawn_list& x) {
  numbers result;
  x.for_each([&](std::uint32_t n) { result.push_back(n); });
  return result;
}

TEST_CASE("drawn_list: what is taken, and what stays, is as in a plain list") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (const std::size_t most : {1, 2, 255, 256, 257, 3000}) {
    CAPTURE(most);
    drawn_list list;
    numbers plain;
    std::uint32_t next = 0;
    // Fills the list, adds one for each that is taken, and empties it, taking from the front, from
    // the back and from anywhere.
    for (int way = 0; way < 3; ++way) {
      const auto place = [&]() -> std::size_t {
        return way == 0 ? 0 : way == 1 ? plain.size() - 1 : random() % plain.size();
      };
      const auto take = [&] {
        const auto i = place();
        REQUIRE(list.take(i) == plain[i]);
        plain.erase(plain.begin() + static_cast<std::ptrdiff_t>(i));
        REQUIRE(list.size() == plain.size());
      };
      const auto add = [&] {
        list.push_back(next);
        plain.push_back(next++);
      };
      while (plain.size() < most)
        add();
      for (std::size_t i = 0; i < 4 * most; ++i) {
        take();
        add();
      }
      REQUIRE(all_of(list) == plain);
      while (!plain.empty())
        take();
      REQUIRE(list.empty());
      REQUIRE(all_of(list).empty());
    }
  }
}

} // namespace
} // namespace leat::drawn_list_test
