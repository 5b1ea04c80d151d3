// What of a driver that is made up (fake_cuda.cpp) kernels need: modules, launches, copies to the
// host and within a device.

#include "tests/shim/fake_cuda.hpp"

#include <algorithm>
#include <cstring>
#include <span>

using namespace leat::fake_cuda;

extern "C" {

LEAT_CUDA_CALL int cuMemcpyDtoHAsync_v2(void* to, unsigned long long from, std::size_t bytes,
                                        void* stream) {
  return with_gpu([&](gpu& x) {
    auto* const host = static_cast<std::byte*>(to);
    if (x.is_of_leat(stream))
      x.device.kernels().copy_back(host, address(from), bytes, {stream});
    else
      x.device.read({stream}, address(from), bytes,
                    [host](auto found) { std::copy(found.begin(), found.end(), host); });
    return success;
  });
}

LEAT_CUDA_CALL int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from,
                                        std::size_t bytes, void* stream) {
  return with_gpu([&](gpu& x) {
    x.device.kernels().copy_within(address(to), address(from), bytes, {stream});
    return success;
  });
}

LEAT_CUDA_CALL int cuMemsetD32Async(unsigned long long at, unsigned word, std::size_t words,
                                    void* stream) {
  return with_gpu([&](gpu& x) {
    if (word != 0)
      return invalid_value;
    x.device.kernels().clear(address(at), words, {stream});
    return success;
  });
}

LEAT_CUDA_CALL int cuModuleLoadData(void** module, const void* image) {
  if (const auto code = static_cast<int>(number("module", 0)))
    return code;
  return with_gpu([&](gpu& x) {
    constexpr std::uint32_t of_nvcc = 0xBA55ED50;
    std::uint32_t begin = 0;
    std::memcpy(&begin, image, sizeof begin);
    if (begin != of_nvcc && std::memcmp(image, "none", 4) != 0) // as fake_kernels.txt
      return invalid_image;
    ++x.modules;
    *module = &x;
    return success;
  });
}

LEAT_CUDA_CALL int cuModuleUnload(void* module) {
  return with_gpu(
      [&](gpu& x) { return module == &x && --x.modules >= 0 ? success : invalid_handle; });
}

LEAT_CUDA_CALL int cuModuleGetFunction(void** function, void* module, const char* name) {
  return with_gpu([&](gpu& x) {
    if (module != &x || x.modules <= 0)
      return invalid_handle;
    try {
      *function = x.device.kernels().find(name).handle;
    } catch (const leat::error&) {
      return not_found;
    }
    return success;
  });
}

/// With the parameters as one block.
LEAT_CUDA_CALL int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                  unsigned threads_x, unsigned threads_y, unsigned threads_z,
                                  unsigned shared_bytes, void* stream, void** arguments,
                                  void** extra) {
  return with_gpu([&](gpu& x) {
    const auto word = [&](int i) { return reinterpret_cast<std::uintptr_t>(extra[i]); };
    if (arguments || !extra || word(0) != 1 || word(2) != 2 || word(4) != 0)
      return invalid_value;
    const std::span argument{static_cast<const std::byte*>(extra[1]),
                             *static_cast<const std::size_t*>(extra[3])};
    x.device.kernels().launch({.kernel = {function},
                               .grid = {grid_x, grid_y, grid_z},
                               .threads = threads_x * threads_y * threads_z,
                               .shared_bytes = shared_bytes},
                              argument, {stream});
    return success;
  });
}

// -- as trainers call it

LEAT_CUDA_CALL int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t bytes) {
  return with_gpu([&](gpu& x) {
    const auto code = cuMemcpyDtoHAsync_v2(to, from, bytes, nullptr);
    x.device.finish({});
    return code;
  });
}

} // extern "C"
