#include "tests/support/catch.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/padded.hpp>

#include <array>
#include <cstdint>
#include <numeric>
#include <vector>

namespace leat::padded_test {

TEST_CASE("rows are filled up to the longest, rounded up") {
  const std::vector<std::int32_t> values{1, 2, 3, 4, 5, 6};
  const std::vector<std::uint64_t> offsets{0, 1, 1, 6};
  const ragged_tensor_view<const std::int32_t, 1> rows{{values.data(), {6}}, offsets};
  const auto x = padded(rows, {.value = -1, .multiple = 4});
  CHECK(x.length() == 8);
  CHECK(x.view().extents() == std::array<std::size_t, 2>{3, 8});
  const auto flat = x.view().flat();
  CHECK(std::vector(flat.begin(), flat.end())
        == std::vector<std::int32_t>{1,  -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1,
                                     -1, -1, -1, -1, 2,  3,  4,  5,  6,  -1, -1, -1});
  CHECK(padded(rows).length() == 5);
}

TEST_CASE("rows of rows keep their inner dimensions, and change where they are told to") {
  const std::vector<float> boxes{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const std::vector<std::uint64_t> offsets{0, 2, 3};
  const ragged_tensor_view<const float, 2> rows{{boxes.data(), {3, 4}}, offsets};
  auto x = padded(rows);
  CHECK(x.view().extents() == std::array<std::size_t, 3>{2, 2, 4});
  CHECK(x.view()(1, 0, 3) == 12);
  CHECK(x.view()(1, 1, 0) == 0);
  x.view()(1, 1, 0) = 7;
  CHECK(x.view()(1, 1, 0) == 7);
  CHECK(boxes[4] == 5);
}

TEST_CASE("no rows, no elements, and a multiple of nothing") {
  const std::vector<std::uint64_t> none{0};
  const std::vector<std::uint64_t> empty{0, 0, 0};
  const ragged_tensor_view<const std::int64_t, 1> no_rows{{nullptr, {0}}, none};
  CHECK(padded(no_rows, {.multiple = 8}).view().size() == 0);
  const ragged_tensor_view<const std::int64_t, 1> empty_rows{{nullptr, {0}}, empty};
  CHECK(padded(empty_rows, {.multiple = 8}).length() == 0);
  CHECK(code_of([&] { (void)padded(empty_rows, {.multiple = 0}); }) == errc::invalid_argument);
}

TEST_CASE("random rows are the same, padded") {
  constexpr std::uint16_t filler = 0xFFFF;
  test::seeded_random random;
  for (int i = 0; i < 200; ++i) {
    std::vector<std::uint64_t> offsets{0};
    for (auto rows = random() % 20; rows > 0; --rows)
      offsets.push_back(offsets.back() + random() % 30);
    std::vector<std::uint16_t> values(offsets.back());
    std::iota(values.begin(), values.end(), 1);
    const ragged_tensor_view<const std::uint16_t, 1> rows{{values.data(), {values.size()}},
                                                          offsets};
    const auto x = padded(rows, {.value = filler, .multiple = 1 + random() % 9});
    REQUIRE(x.view().extent(0) == rows.size());
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (std::size_t k = 0; k < x.length(); ++k)
        REQUIRE(x.view()(r, k) == (k < rows[r].size() ? rows[r][k] : filler));
  }
}

} // namespace leat::padded_test
