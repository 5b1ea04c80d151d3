#include "demos/train/global_batch.hpp"

#include "demos/train/training_data.hpp"

#include <leat/image.hpp>

#include "tools/made_data/png_writer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

namespace leat::train {

namespace {

/// Where a row is: its rank's batch, and its number there.
using row_place = std::pair<const batch*, std::size_t>;

/// Valid rows by position.
std::map<std::uint64_t, row_place> rows_in_order(const rank_batches& ranks) {
  std::map<std::uint64_t, row_place> rows;
  for (const auto& rank : ranks) {
    auto positions = rank->positions();
    auto valid = rank->valid();
    auto position = positions.begin();
    for (std::size_t row = 0; row < rank->size(); ++row)
      if (valid[row] != 0)
        rows.emplace(*position++, row_place{&*rank, row});
  }
  return rows;
}

/// Undoes the normalization, to make a picture for viewing.
rgb_image to_picture(tensor_view<const float, 3> image) {
  const image_options normal;
  rgb_image picture(image.extent(2), image.extent(1));
  for (std::size_t y = 0; y < picture.height; ++y)
    for (std::size_t x = 0; x < picture.width; ++x)
      for (std::size_t c = 0; c < 3; ++c) {
        const float light = (image(c, y, x) * normal.std[c] + normal.mean[c]) * 255;
        picture.row(y)[3 * x + c] =
            static_cast<std::uint8_t>(std::clamp(std::lround(light), 0L, 255L));
      }
  return picture;
}

} // namespace

examples gather(const rank_batches& ranks) {
  const auto rows = rows_in_order(ranks);
  const auto size = static_cast<Eigen::Index>(rows.size());
  examples all{matrix(size, num_features), Eigen::VectorXi(size)};
  Eigen::Index next = 0;
  for (const auto& [position, place] : rows) {
    const auto& [rank, row] = place;
    auto features = rank->view<float, 2>("features")[row];
    all.features.row(next) = Eigen::Map<const Eigen::RowVectorXf>(features.data(), num_features);
    all.labels[next] = static_cast<int>(rank->view<std::int64_t, 1>("label")[row]);
    ++next;
  }
  return all;
}

hash128 digest_of(const rank_batches& ranks) {
  hash128 sum;
  for (const auto& rank : ranks)
    sum += rank->digest();
  return sum;
}

void write_picture(const std::filesystem::path& file, const rank_batches& ranks) {
  std::vector<rgb_image> tiles;
  for (const auto& [position, place] : rows_in_order(ranks))
    tiles.push_back(to_picture(place.first->view<float, 4>("image")[place.second]));
  const auto columns = static_cast<std::size_t>(std::ceil(std::sqrt(tiles.size())));
  write_png(file, contact_sheet(tiles, columns, 4));
}

} // namespace leat::train
