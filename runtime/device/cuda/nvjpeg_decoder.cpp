#include "runtime/device/cuda/nvjpeg_decoder.hpp"

#include "runtime/device/cuda/nvjpeg_library.hpp"

#include <leat/error.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>

namespace leat {

namespace {

/// Huffman codes on the processor, the rest on the device, in the stream's order: decoders in
/// hardware write when they are called, whatever the stream waits for (NVJPEG_BACKEND_HYBRID).
constexpr int hybrid = 1;
/// Files that are not as they should be are refused (NVJPEG_FLAGS_BITSTREAM_STRICT).
constexpr unsigned strict = 1 << 2;
/// Planes as the file has them (NVJPEG_OUTPUT_YUV), and the only one (NVJPEG_OUTPUT_Y).
constexpr int three_planes = 1;
constexpr int one_plane = 2;
/// Three components whose sampling nvJPEG does not know (NVJPEG_CSS_UNKNOWN).
constexpr int unknown_sampling = -1;
constexpr std::size_t most_components = 4;

class nvjpeg_decoder final : public device_jpegs {
public:
  nvjpeg_decoder(const cuda_context& context, device_calls& calls)
      : context_(context), calls_(calls),
        library_(find_nvjpeg(context.name(), context.driver().version)) {
    try {
      begin();
    } catch (...) {
      end();
      throw;
    }
  }
  ~nvjpeg_decoder() override { end(); }

  bool decode(std::span<const std::byte> file, std::span<const device_plane> planes,
              device_stream in) override {
    if (!has_planes(file, planes))
      return false;
    auto& x = states_[next_];
    next_ = (next_ + 1) % states_.size();
    calls_.wait_here(x.done); // copies read the state's memory of the host until then
    nvjpeg_image to;
    for (std::size_t i = 0; i < planes.size(); ++i) {
      to.planes[i] = reinterpret_cast<unsigned char*>(planes[i].samples);
      to.strides[i] = planes[i].stride;
    }
    const auto code = ask("nvjpegDecode", [&] {
      return library_.decode(handle_, x.state, bytes_of(file), file.size(),
                             planes.size() == 1 ? one_plane : three_planes, &to, in.handle);
    });
    calls_.record(x.done, in);
    return takes(code, "nvjpegDecode");
  }

private:
  /// What one image needs of nvJPEG at a time.
  struct decoding_state {
    void* state = nullptr;
    device_event done = {};
  };

  static const unsigned char* bytes_of(std::span<const std::byte> file) noexcept {
    return reinterpret_cast<const unsigned char*>(file.data());
  }

  /// nvJPEG's own code; throws where its context cannot be used.
  template <class Function>
  int ask(const char* name, Function function) const {
    int code = nvjpeg_success;
    context_.call(name, [&] {
      code = function();
      return cuda_success;
    });
    return code;
  }

  void begin() {
    check_start(ask("nvjpegCreateEx",
                    [&] { return library_.create(hybrid, nullptr, nullptr, strict, &handle_); }),
                "nvjpegCreateEx");
    for (auto& x : states_) {
      check_start(
          ask("nvjpegJpegStateCreate", [&] { return library_.create_state(handle_, &x.state); }),
          "nvjpegJpegStateCreate");
      x.done = calls_.make_event();
    }
  }

  void end() noexcept {
    for (auto& x : states_) {
      if (x.done.handle) {
        try {
          calls_.wait_here(x.done);
        } catch (...) { // the device has failed, and does nothing any more
        }
        calls_.end_event(x.done);
      }
      if (x.state)
        context_.end([&] { return library_.destroy_state(x.state); });
    }
    if (handle_)
      context_.end([&] { return library_.destroy(handle_); });
  }

  bool has_planes(std::span<const std::byte> file, std::span<const device_plane> planes) const {
    int components = 0;
    int sampling = unknown_sampling;
    std::array<int, most_components> widths{};
    std::array<int, most_components> heights{};
    const auto code = ask("nvjpegGetImageInfo", [&] {
      return library_.image_info(handle_, bytes_of(file), file.size(), &components, &sampling,
                                 widths.data(), heights.data());
    });
    if (!takes(code, "nvjpegGetImageInfo") || sampling == unknown_sampling
        || static_cast<std::size_t>(components) != planes.size())
      return false;
    for (std::size_t i = 0; i < planes.size(); ++i)
      if (static_cast<std::size_t>(widths[i]) != planes[i].width
          || static_cast<std::size_t>(heights[i]) != planes[i].height)
        return false;
    return true;
  }

  /// False: something about the file. Throws for all that is about the device.
  bool takes(int code, const char* name) const {
    switch (code) {
    case nvjpeg_not_initialized:
    case nvjpeg_allocator_failure:
    case nvjpeg_execution_failed:
    case nvjpeg_arch_mismatch:
      refuse(code, name,
             "a GPU on which no earlier work of this process has failed: CUDA_LAUNCH_BLOCKING=1 "
             "shows which did");
    default:
      return code == nvjpeg_success;
    }
  }

  void check_start(int code, const char* name) const {
    if (code == nvjpeg_success)
      return;
    const bool is_newer = context_.driver().version < library_.cuda;
    refuse(code, name,
           is_newer ? "a driver for CUDA " + cuda_version_text(library_.cuda)
                          + " or newer (nvidia-smi shows its own), or an older nvJPEG: pip install "
                            "nvidia-nvjpeg-cu12, and LEAT_NVJPEG names the file"
                    : "a GPU and a driver that nvJPEG can use, or decoder = \"device\", which does "
                      "without it");
  }

  [[noreturn]] void refuse(int code, const char* name, std::string needed) const {
    const bool no_memory = code == nvjpeg_allocator_failure;
    throw error(no_memory ? errc::no_resources : errc::device,
                {.stage = context_.name(),
                 .got = text_of_nvjpeg(code) + " from " + name + " of " + library_.file
                        + " (nvJPEG " + library_.version + ", for CUDA "
                        + cuda_version_text(library_.cuda) + "; the driver is for CUDA "
                        + cuda_version_text(context_.driver().version) + ")",
                 .needed = no_memory ? "a GPU with free memory, which other processes may hold "
                                       "(nvidia-smi)"
                                     : std::move(needed)});
  }

  const cuda_context& context_;
  device_calls& calls_;
  const nvjpeg_library& library_;
  void* handle_ = nullptr;
  /// While the device has one image, the processor has another.
  std::array<decoding_state, 2> states_{};
  std::size_t next_ = 0;
};

} // namespace

std::unique_ptr<device_jpegs> open_nvjpeg(const cuda_context& context, device_calls& calls) {
  return std::make_unique<nvjpeg_decoder>(context, calls);
}

} // namespace leat
