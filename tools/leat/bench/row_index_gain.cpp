#include "tools/leat/bench/row_index_gain.hpp"

#include "tools/leat/bench/decode_ways.hpp"
#include "tools/leat/bench/spread.hpp"

#include <algorithm>

namespace leat::command {

std::optional<row_index_gain> measure_gain(const source& data) {
  constexpr std::size_t most = 200;
  constexpr int rounds = 5;
  auto images = load_cases(data, decode_transform::train, most).images;
  images.erase(std::remove_if(images.begin(), images.end(), [](auto& x) { return !x.indexed; }),
               images.end());
  if (images.empty())
    return std::nullopt;
  const auto workers = make_workers(1);
  series without;
  series with;
  for (int i = 0; i < rounds; ++i) {
    without.push_back(decode_all(decode_way::own, images, {}, workers, 1));
    with.push_back(decode_all(decode_way::own_with_places, images, {}, workers, 1));
  }
  return row_index_gain{spread_of(ratios(without, with)).median, images.size()};
}

} // namespace leat::command
