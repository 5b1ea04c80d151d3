#include "tests/support/run_on_host.hpp"

#include "runtime/image/device/colour_steps.hpp"
#include "runtime/image/device/kernel_bodies.hpp"
#include "runtime/image/device/stuffing.hpp"

namespace leat::test {

namespace {

/// A warp whose lanes take turns.
struct host_warp {
  template <class T>
  struct lanes {
    T x[warp_lanes]{};

    T& operator[](std::uint32_t lane) { return x[lane]; }
    const T& operator[](std::uint32_t lane) const { return x[lane]; }
  };

  template <class Function>
  void each(Function f) const {
    for (std::uint32_t lane = 0; lane < warp_lanes; ++lane)
      f(lane);
  }
  std::uint32_t ballot(const lanes<bool>& x) const {
    std::uint32_t bits = 0;
    each([&](std::uint32_t lane) { bits |= (x[lane] ? 1U : 0U) << lane; });
    return bits;
  }
  std::uint32_t last(const lanes<std::uint32_t>& x) const { return x[warp_lanes - 1]; }
  lanes<std::uint32_t> before(const lanes<std::uint32_t>& x, std::uint32_t first) const {
    lanes<std::uint32_t> result;
    each([&](std::uint32_t lane) { result[lane] = lane == 0 ? first : x[lane - 1]; });
    return result;
  }
  lanes<std::uint32_t> after(const lanes<std::uint32_t>& x, std::uint32_t last) const {
    lanes<std::uint32_t> result;
    each([&](std::uint32_t lane) { result[lane] = lane + 1 == warp_lanes ? last : x[lane + 1]; });
    return result;
  }
};

/// Calls with the number of each block and of each of its threads.
template <class Body>
void run_threads(std::uint32_t blocks, std::uint32_t threads, Body body) {
  for (std::uint32_t block = 0; block < blocks; ++block)
    for (std::uint32_t thread = 0; thread < threads; ++thread)
      body(block, thread);
}

void unstuff(const device_group& x) {
  host_warp warp;
  for (std::uint32_t i = 0; i < x.num_stretches; ++i)
    x.bits[i] = remove_stuffing(x.stretches[i], x.bytes, x.words, warp);
}

void make_grays(const device_group& x) {
  for (std::uint32_t t = 0; t < x.num_gray_tiles; ++t) {
    const auto number = x.gray_tiles[t].image;
    const auto& image = x.images[number];
    const auto pixels = image.pixels.width * image.pixels.height;
    double sums[gray_lanes]{};
    for (std::uint32_t i = 0; i < pixels; ++i)
      sums[i % gray_lanes] += static_cast<double>(gray_before_contrast(x, image, i));
    x.grays[number] = mean_gray_of(sums, pixels);
  }
}

} // namespace

void run_on_host(kernel which, const device_group& x) {
  switch (which) {
  case kernel::clear:
    return clear_some(x, 0, 1);
  case kernel::tables:
    return run_threads(x.num_images, device_tiles::tables, [&](auto block, auto thread) {
      make_tables(x, block, x.images[block].codes, thread, device_tiles::tables);
    });
  case kernel::unstuff:
    return unstuff(x);
  case kernel::weights:
    return run_threads(x.num_axis_tiles, device_tiles::axis,
                       [&](auto block, auto thread) { make_weights(x, block, thread); });
  case kernel::decode:
    return run_threads(x.num_stretches, 1, [&](auto block, auto) { decode_one(x, block); });
  case kernel::transform:
    return run_threads(x.num_block_tiles, device_tiles::blocks,
                       [&](auto block, auto thread) { transform_one(x, block, thread); });
  case kernel::narrow:
    return run_threads(x.num_row_tiles, device_tiles::columns, [&](auto block, auto thread) {
      narrow_column(x, x.row_tiles[block], thread);
    });
  case kernel::pixels:
    return run_threads(
        x.num_pixel_tiles, device_tiles::pixel_threads,
        [&](auto block, auto thread) { write_pixels(x, x.pixel_tiles[block], thread); });
  case kernel::grays:
    return make_grays(x);
  case kernel::colours:
    return run_threads(x.num_colour_tiles, device_tiles::colours, [&](auto block, auto thread) {
      adjust_pixel(x, x.colour_tiles[block], thread);
    });
  }
}

void run_on_host(const device_group& x) {
  for (const auto& launch : launches_of(x))
    run_on_host(launch.which, x);
}

} // namespace leat::test
