// The training loop of README.md as a program, so that it stays true. "Trains" by printing.
//   leat make-data data --samples 240 --shards 4 && readme_loop

#include <leat/leat.hpp>

#include <charconv>
#include <cstdint>
#include <iostream>
#include <span>
#include <string_view>

namespace {

std::int64_t parse(std::string_view text) {
  std::int64_t number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void train(leat::tensor_view<const float, 4> images,
           leat::tensor_view<const std::int64_t, 1> labels, std::span<const std::uint8_t> valid) {
  std::cout << "trained on " << leat::to_string(leat::shape{images.extent(0), images.extent(1)})
            << ", first label " << labels[0] << (valid[0] != 0 ? "\n" : " (no sample)\n");
}

} // namespace

int main() {
  const std::uint64_t r = 0;
  const std::uint64_t w = 1;

  auto data = leat::tar_shards("data/train-{000000..000003}.tar")
                  .shuffle({.seed = 7})
                  .map(leat::train_image("jpg", {.size = 224})) // sets "image": float32, NCHW
                  .map("label@1",
                       [](leat::sample& s, leat::context&) {   // name@version goes into snapshots
                         s.set("label", parse(s.text("cls"))); // what it throws makes a bad sample
                       })
                  .batch(240); // rows of the global batch, all ranks

  leat::loader loader(data, {.rank = r, .world_size = w, .workers = 8, .epochs = 10});
  loader.restore("ckpt");                    // newest complete snapshot, if any
  while (auto batch = loader.next()) {       // a lease: any thread may drop it
    auto x = batch->view<float, 4>("image"); // wrong name, type or rank: throws
    train(x, batch->view<std::int64_t, 1>("label"), batch->valid());
    if (batch->global_step() % 500 == 499)
      loader.save("ckpt", *batch); // "resume after this batch"
  }
}
