#include <leat/leat.hpp>

#include <cstdint>
#include <iostream>

int main() try {
  auto data = leat::tar_shards("data/*.tar")
                  .shuffle({.seed = 7})
                  .map(leat::train_image("jpg", {.size = 64}))
                  .map(leat::int_label("cls"))
                  .batch(16, {.fields = {"image", "label"}});

  leat::loader loader(data, {.workers = 2});
  while (auto batch = loader.next()) {
    auto images = batch->view<float, 4>("image");
    auto labels = batch->view<std::int64_t, 1>("label");
    std::cout << "step " << batch->step() << ": " << images.extent(0) << " images, first label "
              << labels[0] << '\n';
  }
} catch (const leat::error& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
