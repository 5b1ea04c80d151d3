#include "runtime/order/ring.hpp"
#include "tests/support/test.hpp"

namespace leat::ring_test {
namespace {

struct word {
  std::string text;
  void clear() { text.clear(); }
};

TEST_CASE("ring: grows at any time, keeps its order, and never holds more than it may") {
  std::mt19937_64 chance{3};
  for (int round = 0; round < 200; ++round) {
    std::size_t capacity = 1 + chance() % 5;
    ring<word> x{capacity};
    std::deque<std::string> expected;
    for (int i = 0; i < 200; ++i) {
      REQUIRE(x.full() == (expected.size() == capacity));
      if (chance() % 16 == 0) {
        const auto wanted = chance() % (2 * capacity + 2);
        x.grow(wanted);
        capacity = std::max(capacity, wanted);
      } else if (chance() % 3 != 0 && !x.full()) {
        auto& added = x.push();
        REQUIRE(added.text.empty());
        added.text = std::to_string(i);
        expected.push_back(added.text);
      } else if (!x.empty()) {
        x.pop();
        expected.pop_front();
      }
      REQUIRE(x.size() == expected.size());
      for (std::size_t k = 0; k < expected.size(); ++k)
        REQUIRE(x[k].text == expected[k]);
    }
  }
}

} // namespace
} // namespace leat::ring_test
