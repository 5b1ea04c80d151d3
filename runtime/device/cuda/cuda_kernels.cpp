#include "runtime/device/cuda/cuda_kernels.hpp"

#include "runtime/device/cuda/cuda_image.hpp"

#include <leat/error.hpp>

#include <string>
#include <utility>

namespace leat {

namespace {

/// Of a GPU, as nvcc counts: 90 is compute capability 9.0. 0 where the driver does not say.
int architecture_of(const cuda_context& on) {
  constexpr int major_attribute = 75;
  constexpr int minor_attribute = 76;
  const auto attribute = [&](int which) {
    int x = 0;
    on.driver().device_attribute(&x, which, on.device());
    return x;
  };
  return attribute(major_attribute) * 10 + attribute(minor_attribute);
}

/// Says why the driver does not take them.
void refuse_image(const cuda_context& on, const cuda_image& image, int code) {
  const auto refuse = [&](std::string got, std::string needed) {
    throw error(errc::device,
                {.stage = on.name(), .got = std::move(got), .needed = std::move(needed)});
  };
  const int version = on.driver().version;
  const auto driver = "a driver for CUDA " + cuda_version_text(version);
  const auto toolkit = "CUDA " + cuda_version_text(image.toolkit);
  const auto architecture = std::to_string(architecture_of(on));
  const auto newer_driver = "a driver for " + toolkit + " or newer (nvidia-smi shows its own)";
  const bool is_of_image = code == cuda_invalid_image || code == cuda_no_image_for_device
                           || code == cuda_invalid_ptx || code == cuda_ptx_too_new;
  if (is_of_image && version / 1000 < image.toolkit / 1000)
    refuse(driver + ", which does not take the kernels that decode there, made by " + toolkit,
           newer_driver + ", or a libleat_cuda.so that was made by an older CUDA");
  if (code == cuda_no_image_for_device)
    refuse("a GPU of architecture " + architecture + ", and kernels that decode there for "
               + image.built_for + " and newer than " + image.newest,
           "a GPU of one of these, or a libleat_cuda.so that was made for " + architecture);
  if (code == cuda_ptx_too_new)
    refuse("a GPU of architecture " + architecture + ", for which the kernels that decode there ("
               + image.built_for + ") are compiled by the driver, and " + driver
               + ", which does not take what " + toolkit + " has made",
           newer_driver + ", or a libleat_cuda.so that was made for " + architecture);
  on.check(code, "cuModuleLoadData");
}

class cuda_kernels final : public device_kernels {
public:
  explicit cuda_kernels(const cuda_context& context) : context_(context) {
    const auto& image = find_cuda_image(context_.name());
    const auto code = context_.ask([&] { return driver().kernel.load(&module_, image.data); });
    if (code != cuda_success)
      refuse_image(context_, image, code);
  }
  ~cuda_kernels() override {
    context_.end([&] { return driver().kernel.unload(module_); });
  }

  device_kernel find(const char* name) override {
    device_kernel x;
    context_.call("cuModuleGetFunction",
                  [&] { return driver().kernel.find(&x.handle, module_, name); });
    return x;
  }
  void launch(const device_launch& x, std::span<const std::byte> argument,
              device_stream in) override {
    // Parameters as one block (CU_LAUNCH_PARAM_BUFFER_POINTER, _SIZE, _END), which is only read.
    auto size = argument.size();
    void* extra[] = {reinterpret_cast<void*>(1), const_cast<std::byte*>(argument.data()),
                     reinterpret_cast<void*>(2), &size, nullptr};
    context_.call("cuLaunchKernel", [&] {
      return driver().kernel.launch(x.kernel.handle, x.grid[0], x.grid[1], x.grid[2], x.threads, 1,
                                    1, x.shared_bytes, in.handle, nullptr, extra);
    });
  }
  void copy_back(std::byte* to, const std::byte* from, std::size_t bytes,
                 device_stream in) override {
    context_.call("cuMemcpyDtoHAsync", [&] {
      return driver().memory.copy_back(to, cuda_address(from), bytes, in.handle);
    });
  }
  void copy_within(std::byte* to, const std::byte* from, std::size_t bytes,
                   device_stream in) override {
    context_.call("cuMemcpyDtoDAsync", [&] {
      return driver().memory.copy_within(cuda_address(to), cuda_address(from), bytes, in.handle);
    });
  }
  void clear(std::byte* at, std::size_t words, device_stream in) override {
    context_.call("cuMemsetD32Async",
                  [&] { return driver().memory.fill(cuda_address(at), 0, words, in.handle); });
  }

private:
  const cuda_driver& driver() const noexcept { return context_.driver(); }

  const cuda_context& context_;
  void* module_ = nullptr;
};

} // namespace

std::unique_ptr<device_kernels> load_cuda_kernels(const cuda_context& context) {
  return std::make_unique<cuda_kernels>(context);
}

} // namespace leat
