#include "runtime/cluster/noted_words.hpp"
#include "tests/support/test.hpp"

namespace leat::noted_words_test {
namespace {

TEST_CASE("nothing was noted at first, and then the newest") {
  noted_words<3> x;
  REQUIRE(x.read() == noted_words<3>::words{});
  x.note({1, 2, 3});
  x.note({4, 5, 6});
  REQUIRE(x.read() == noted_words<3>::words{4, 5, 6});
}

TEST_CASE("threads that read while another one notes see numbers of one note, none older again") {
  constexpr std::uint64_t notes = 200'000;
  noted_words<4> x;
  std::atomic<int> mixed{0};
  std::atomic<int> older{0};
  {
    std::vector<std::jthread> readers;
    for (int i = 0; i < 2; ++i)
      readers.emplace_back([&] {
        std::uint64_t newest = 0;
        while (newest < notes) {
          const auto [a, b, c, d] = x.read();
          mixed += b != 2 * a || c != 3 * a || d != 4 * a;
          older += a < newest;
          newest = a;
        }
      });
    for (std::uint64_t i = 1; i <= notes; ++i)
      x.note({i, 2 * i, 3 * i, 4 * i});
  }
  REQUIRE(mixed == 0);
  REQUIRE(older == 0);
}

} // namespace
} // namespace leat::noted_words_test
