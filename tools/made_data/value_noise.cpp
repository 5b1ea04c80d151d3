#include "tools/made_data/value_noise.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace leat {

namespace {

int blend(int a, int b, int weight) {
  return a + (b - a) * weight / 256;
}

std::vector<int> smoothstep_table(int cell) {
  std::vector<int> table(static_cast<std::size_t>(cell));
  for (int i = 0; int& weight : table) {
    weight = 256 * i * i / (cell * cell) * (3 * cell - 2 * i) / cell;
    ++i;
  }
  return table;
}

} // namespace

value_noise::value_noise(int width, int height, int cell, int amplitude, rng& random)
    : cell_(cell), columns_(width / cell + 2), blend_(smoothstep_table(cell)),
      heights_(static_cast<std::size_t>(columns_) * static_cast<std::size_t>(height / cell + 2)) {
  std::uint32_t word = 0;
  for (std::size_t i = 0; i < heights_.size(); ++i) {
    word = i % 4 == 0 ? random() : word >> 8; // a byte of randomness is enough for a height
    heights_[i] = (static_cast<int>(word & 0xff) - 128) * amplitude * 2;
  }
}

void value_noise::add_row(int y, std::span<int> row) const {
  const auto width = static_cast<int>(row.size());
  const int* above = heights_.data() + static_cast<std::ptrdiff_t>(y / cell_) * columns_;
  const int* below = above + columns_;
  const int down = blend_[static_cast<std::size_t>(y % cell_)];
  int left = blend(above[0], below[0], down);
  for (int x = 0, column = 1; x < width; x += cell_, ++column) {
    const int right = blend(above[column], below[column], down);
    int* to = row.data() + x;
    const int cell_end = std::min(cell_, width - x);
    for (int i = 0; i < cell_end; ++i)
      to[i] += blend(left, right, blend_[static_cast<std::size_t>(i)]) / 256;
    left = right;
  }
}

} // namespace leat
