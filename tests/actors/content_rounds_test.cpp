#include "tests/support/catch.hpp"
#include "tests/support/twins.hpp"

#include <leat/leat.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

// Rounds that look at content, under operators that stop asking for more: what was looked at for
// them and is then not wanted must leave nothing behind. See tests/support/twins.hpp.

namespace leat::test {
namespace {

/// Values by position.
using rows = std::map<std::uint64_t, std::int64_t>;

/// The first `steps` batches of a lane-wise order, `m` of each lane for each; none where a lane has
/// nothing.
std::optional<rows> expected_rows(const twin& x, std::uint64_t lanes, std::uint64_t steps,
                                  std::uint64_t m, epoch_end end) {
  rows all;
  for (std::uint64_t lane = 0; lane < lanes; ++lane) {
    const auto items = x.plain(lane, lanes);
    if (items.empty())
      return std::nullopt;
    const auto most = end == epoch_end::cycle ? steps * m : std::min(steps * m, items.size());
    for (std::uint64_t k = 0; k < most; ++k)
      all[lane + k * lanes] = items[k % items.size()];
  }
  return all;
}

rows rows_of(const pipeline& data, const loader_options& options, std::uint64_t steps) {
  loader from{data, options};
  rows all;
  for (std::uint64_t step = 0; step < steps; ++step) {
    const auto x = from.next();
    if (!x)
      break;
    const auto v = x->view<std::int64_t, 1>("v");
    const auto positions = x->positions(); // of valid rows
    for (std::size_t i = 0, row = 0; i < x->size(); ++i)
      if (x->valid()[i] != 0)
        all[positions[row++]] = v(i);
  }
  return all;
}

void check_twin(const twin& x, std::uint64_t lanes, std::uint64_t m, epoch_end end) {
  constexpr std::uint64_t steps = 12;
  const auto expected = expected_rows(x, lanes, steps, m, end);
  if (!expected)
    return;
  const auto data = x.data.batch(lanes * m, {.lanes = lanes, .end = end});
  CAPTURE(to_string(data));
  for (const std::size_t workers : {0, 1, 3}) {
    CAPTURE(workers);
    const std::array policies{dispatch_policy::on_demand, dispatch_policy::round_robin,
                              dispatch_policy::by_lane};
    REQUIRE(rows_of(data, {.workers = workers, .dispatch = policies[(lanes + workers) % 3]}, steps)
            == *expected);
  }
}

TEST_CASE("content rounds: random joins that end early give what a plain reading gives") {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CAPTURE(seed);
    twin_grower grower{seed};
    const auto x = grower.grow(2 + static_cast<int>(grower.below(3)));
    try {
      check_twin(x, 1 + grower.below(3), 1 + grower.below(2),
                 grower.below(2) == 0 ? epoch_end::mask : epoch_end::cycle);
    } catch (const gives_nothing&) {
    }
  }
}

} // namespace
} // namespace leat::test
