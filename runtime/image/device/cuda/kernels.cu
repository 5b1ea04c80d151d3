// The kernels of libleat_cuda: thin ones around bodies that the host's compiler builds as well.

#include "runtime/image/device/colour_steps.hpp"
#include "runtime/image/device/kernel_bodies.hpp"
#include "runtime/image/device/stuffing.hpp"

namespace leat {

namespace {

/// The lanes of this thread's warp, of which it is one.
struct device_warp {
  template <class T>
  struct lanes {
    T x;

    LEAT_ON_BOTH T& operator[](std::uint32_t) { return x; }
    LEAT_ON_BOTH const T& operator[](std::uint32_t) const { return x; }
  };
  static constexpr unsigned all = 0xFFFFFFFF;

  std::uint32_t lane;

  template <class Function>
  __device__ void each(Function f) const {
    f(lane);
  }
  __device__ std::uint32_t ballot(const lanes<bool>& x) const { return __ballot_sync(all, x.x); }
  __device__ std::uint32_t last(const lanes<std::uint32_t>& x) const {
    return __shfl_sync(all, x.x, warp_lanes - 1);
  }
  __device__ lanes<std::uint32_t> before(const lanes<std::uint32_t>& x, std::uint32_t first) const {
    const std::uint32_t neighbour = __shfl_up_sync(all, x.x, 1);
    return {lane == 0 ? first : neighbour};
  }
  __device__ lanes<std::uint32_t> after(const lanes<std::uint32_t>& x, std::uint32_t last) const {
    const std::uint32_t neighbour = __shfl_down_sync(all, x.x, 1);
    return {lane == warp_lanes - 1 ? last : neighbour};
  }
};

} // namespace

extern "C" {

__global__ void __launch_bounds__(device_tiles::clearing) leat_clear(device_group group) {
  clear_some(group, blockIdx.x * blockDim.x + threadIdx.x, gridDim.x * blockDim.x);
}

__global__ void __launch_bounds__(device_tiles::tables) leat_tables(device_group group) {
  __shared__ device_huffman codes[4];
  constexpr std::uint32_t words = sizeof codes / sizeof(std::uint32_t);
  const auto* from = reinterpret_cast<const std::uint32_t*>(group.images[blockIdx.x].codes);
  for (std::uint32_t i = threadIdx.x; i < words; i += blockDim.x)
    reinterpret_cast<std::uint32_t*>(codes)[i] = from[i];
  __syncthreads();
  make_tables(group, blockIdx.x, codes, threadIdx.x, blockDim.x);
}

__global__ void __launch_bounds__(device_tiles::unstuffed* warp_lanes)
    leat_unstuff(device_group group) {
  const std::uint32_t number = blockIdx.x * device_tiles::unstuffed + threadIdx.x / warp_lanes;
  if (number >= group.num_stretches)
    return;
  device_warp warp{threadIdx.x % warp_lanes};
  const device_bits found =
      remove_stuffing(group.stretches[number], group.bytes, group.words, warp);
  if (warp.lane == 0)
    group.bits[number] = found;
}

__global__ void __launch_bounds__(device_tiles::axis) leat_weights(device_group group) {
  make_weights(group, blockIdx.x, threadIdx.x);
}

__global__ void __launch_bounds__(device_tiles::decoded) leat_decode(device_group group) {
  decode_one(group, blockIdx.x * blockDim.x + threadIdx.x);
}

__global__ void __launch_bounds__(device_tiles::blocks) leat_transform(device_group group) {
  transform_one(group, blockIdx.x, threadIdx.x);
}

__global__ void __launch_bounds__(device_tiles::columns) leat_narrow(device_group group) {
  narrow_column(group, group.row_tiles[blockIdx.x], threadIdx.x);
}

__global__ void __launch_bounds__(device_tiles::pixel_threads) leat_pixels(device_group group) {
  write_pixels(group, group.pixel_tiles[blockIdx.x], threadIdx.x);
}

// A block an image. All threads make grays, some at a time, and eight of them sum, each in order.
__global__ void __launch_bounds__(device_tiles::grays) leat_grays(device_group group) {
  constexpr std::uint32_t at_once = 8 * device_tiles::grays;
  __shared__ float grays[at_once];
  __shared__ double sums[gray_lanes];
  const std::uint32_t number = group.gray_tiles[blockIdx.x].image;
  const device_image& image = group.images[number];
  const std::uint32_t pixels = image.pixels.width * image.pixels.height;
  double sum = 0;
  for (std::uint32_t first = 0; first < pixels; first += at_once) {
    const std::uint32_t left = pixels - first;
    const std::uint32_t many = left < at_once ? left : at_once;
    for (std::uint32_t i = threadIdx.x; i < many; i += device_tiles::grays)
      grays[i] = gray_before_contrast(group, image, first + i);
    __syncthreads();
    for (std::uint32_t i = threadIdx.x; threadIdx.x < gray_lanes && i < many; i += gray_lanes)
      sum += static_cast<double>(grays[i]);
    __syncthreads();
  }
  if (threadIdx.x < gray_lanes)
    sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x == 0)
    group.grays[number] = mean_gray_of(sums, pixels);
}

__global__ void __launch_bounds__(device_tiles::colours) leat_colours(device_group group) {
  adjust_pixel(group, group.colour_tiles[blockIdx.x], threadIdx.x);
}

} // extern "C"

} // namespace leat
