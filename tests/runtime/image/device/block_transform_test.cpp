// One block at a time, whatever its coefficients are: what inverse_dct makes of it, and says of it.
#include "runtime/base/aligned_vector.hpp"
#include "runtime/image/device/block_transform.hpp"
#include "runtime/image/jpeg/inverse_dct.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/sanitized.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace leat::block_transform_test {

using namespace leat::test;

namespace {

/// 64 coefficients, in the order of the file, and their factors.
struct block {
  alignas(64) std::array<std::int16_t, 64> coefficients{};
  std::array<std::uint16_t, 64> factors{};
};

struct result {
  std::vector<std::uint8_t> samples;
  bool is_good;

  friend bool operator==(const result&, const result&) = default;
};

/// As a processor does it: first in a group, whose other blocks are zeros.
result on_processor(const inverse_dct& transform, const block& x, std::size_t each) {
  const auto row = transform.group.row();
  aligned_vector<std::int16_t> group(transform.group.size());
  for (int k = 0; k < 64; ++k) {
    const auto at = static_cast<std::size_t>(block_transform::zigzag(k));
    if (each > 1 || k == 0)
      group[at / 8 * row + at % 8] = x.coefficients[static_cast<std::size_t>(k)];
  }
  std::vector<std::uint8_t> to(each * row);
  const bool good = transform.to(each)(group.data(), x.factors.data(), to.data(), row);
  result y{{}, good};
  for (std::size_t r = 0; r < each; ++r)
    y.samples.insert(y.samples.end(), to.data() + r * row, to.data() + r * row + each);
  return y;
}

result on_device(const block& x, std::size_t each) {
  device_component component{};
  component.columns = 1;
  component.each = static_cast<std::uint32_t>(each);
  std::copy(x.factors.begin(), x.factors.end(), component.quantisation);
  alignas(8) std::array<std::uint8_t, 64> to{};
  const bool good = transform_block(component, 0, x.coefficients.data(), to.data());
  return {{to.data(), to.data() + each * each}, good};
}

/// Many are zeros; others are as large as `bits` allows.
block random_block(std::mt19937& random, unsigned bits, bool only_first) {
  block x;
  const auto density = 1 + random() % 64;
  for (std::size_t k = 0; k < 64; ++k) {
    x.factors[k] = static_cast<std::uint16_t>(1 + random() % (random() % 4 == 0 ? 65535 : 255));
    const auto value = static_cast<int>(random() % (2U << bits)) - (1 << bits);
    if ((!only_first || k == 0) && random() % 64 < density)
      x.coefficients[k] = static_cast<std::int16_t>(value);
  }
  return x;
}

} // namespace

TEST_CASE("blocks of any coefficients become inverse_dct's samples, or are told") {
  seeded_random random;
  const auto transform = inverse_dct::best();
  for (const std::size_t each : {8, 4, 2, 1}) {
    std::array<int, 2> seen{};
    for (int i = 0; i < (sanitized ? 2000 : 50000); ++i) {
      const auto x = random_block(random, random() % 16, i % 16 == 0);
      const auto wanted = on_processor(transform, x, each);
      const auto got = on_device(x, each);
      CAPTURE(each, i, wanted.is_good, got.is_good);
      REQUIRE((got == wanted));
      ++seen[wanted.is_good ? 1 : 0];
    }
    CHECK(seen[1] > 0);
    CHECK((seen[0] > 0) == (each > 1));
  }
}

} // namespace leat::block_transform_test
