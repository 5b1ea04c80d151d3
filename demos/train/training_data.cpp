#include "demos/train/training_data.hpp"

#include <leat/leat.hpp>

#include <algorithm>
#include <string>

namespace leat::train {

namespace {

/// A user's own map: it runs in the workers, like the decoding, and needs no lock.
void pool_image(sample& s, context&) {
  constexpr std::size_t cell = image_size / grid_size;
  auto image = s.view<float, 3>("image");
  auto means = s.make<float>("features", {num_features});
  std::fill(means.begin(), means.end(), 0.0F);
  for (std::size_t channel = 0; channel < 3; ++channel)
    for (std::size_t y = 0; y < image_size; ++y)
      for (std::size_t x = 0; x < image_size; ++x)
        means[(channel * grid_size + y / cell) * grid_size + x / cell] +=
            image(channel, y, x) / (cell * cell);
}

map_function check_label(std::int64_t classes) {
  return [classes](sample& s, context&) {
    auto label = s.get<std::int64_t>("label");
    if (label < 0 || label >= classes)
      throw bad_sample(cause::corrupt, "label " + std::to_string(label) + " is not one of "
                                           + std::to_string(classes) + " classes");
  };
}

} // namespace

pipeline training_data(const data_options& options) {
  // Crops show whole objects rather than details, which a grid of 16 x 16 means does not have.
  const image_options crop{.size = image_size, .scale = {0.5, 1.0}};
  return tar_shards(options.shards)
      .shuffle({.seed = options.seed})
      .map(train_image("jpg", crop))
      .map("pool@1", pool_image)
      .map(int_label("cls"))
      .map("check_label@1", check_label(options.classes))
      .batch(options.global_batch, {.fields = {"image", "features", "label"}});
}

} // namespace leat::train
