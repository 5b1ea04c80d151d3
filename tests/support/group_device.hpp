#pragma once

#include "runtime/base/aligned_vector.hpp"
#include "runtime/base/huge_buffer.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/device/cuda/cuda_device.hpp"
#include "runtime/device/device_kernels.hpp"
#include "runtime/device/device_memory.hpp"
#include "runtime/device/pinned_memory.hpp"
#include "tests/support/run_on_host.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

namespace leat::test {

/// Memory in which groups of images are decoded, and what runs their kernels.
class group_device : not_copied {
public:
  struct sizes {
    std::size_t staging;
    std::size_t scratch;
    std::size_t pixels;
  };

  virtual ~group_device() = default;

  /// Of the host: where groups are packed.
  virtual std::span<std::byte> staging() = 0;
  // Of the device: where it is copied to, and the rest.
  virtual const std::byte* copied() = 0;
  virtual std::byte* scratch() = 0;
  virtual std::byte* pixels() = 0;
  /// Decodes a group. `pixels` is what the device's first ones are before, and gets what they are
  /// then; `told` gets what `scratch` has from this offset on.
  virtual void run(const device_group& x, std::size_t bytes_to_copy, std::span<std::byte> pixels,
                   std::size_t told_offset, std::span<std::uint32_t> told) = 0;
};

/// The bodies of kernels, in memory of exactly these sizes.
class host_group_device final : public group_device {
public:
  explicit host_group_device(const sizes& x)
      : staging_(x.staging), copied_(x.staging), scratch_(x.scratch), pixels_(x.pixels) {
    std::fill(scratch_.begin(), scratch_.end(), fresh);
  }

  std::span<std::byte> staging() override { return staging_; }
  const std::byte* copied() override { return copied_.data(); }
  std::byte* scratch() override { return scratch_.data(); }
  std::byte* pixels() override { return pixels_.data(); }
  void run(const device_group& x, std::size_t bytes_to_copy, std::span<std::byte> pixels,
           std::size_t told_offset, std::span<std::uint32_t> told) override {
    std::copy_n(staging_.data(), bytes_to_copy, copied_.data());
    std::copy(pixels.begin(), pixels.end(), pixels_.begin());
    run_on_host(x);
    std::copy_n(pixels_.begin(), pixels.size(), pixels.begin());
    std::memcpy(told.data(), scratch_.data() + told_offset, told.size_bytes());
  }

  /// Nothing may depend on what memory holds.
  static constexpr std::byte fresh{0xA5};

private:
  aligned_vector<std::byte> staging_;
  aligned_vector<std::byte> copied_;
  aligned_vector<std::byte> scratch_;
  aligned_vector<std::byte> pixels_;
};

/// The first GPU.
class cuda_group_device final : public group_device {
public:
  explicit cuda_group_device(const sizes& x)
      : staging_(x.staging, host_), copied_(calls_, x.staging), scratch_(calls_, x.scratch),
        pixels_(calls_, x.pixels) {
    for (std::size_t i = 0; i < num_kernels; ++i)
      kernels_[i] = calls_->kernels().find(name_of(static_cast<kernel>(i)));
    const std::vector<std::byte> fresh(x.scratch, host_group_device::fresh);
    calls_->copy(scratch(), fresh.data(), fresh.size(), stream_);
    wait();
  }
  ~cuda_group_device() override {
    calls_->end_event(done_);
    calls_->end_stream(stream_);
  }

  std::span<std::byte> staging() override { return {staging_.data(), staging_.size()}; }
  const std::byte* copied() override { return copied_.data(); }
  std::byte* scratch() override { return scratch_.data(); }
  std::byte* pixels() override { return pixels_.data(); }
  void run(const device_group& x, std::size_t bytes_to_copy, std::span<std::byte> pixels,
           std::size_t told_offset, std::span<std::uint32_t> told) override {
    auto& kernels = calls_->kernels();
    calls_->copy(copied_.data(), staging_.data(), bytes_to_copy, stream_);
    calls_->copy(pixels_.data(), pixels.data(), pixels.size(), stream_);
    for (const auto& launch : launches_of(x))
      kernels.launch({.kernel = kernels_[static_cast<std::size_t>(launch.which)],
                      .grid = launch.grid,
                      .threads = launch.threads,
                      .shared_bytes = launch.shared_bytes},
                     std::as_bytes(std::span{&x, 1}), stream_);
    kernels.copy_back(pixels.data(), pixels_.data(), pixels.size(), stream_);
    kernels.copy_back(reinterpret_cast<std::byte*>(told.data()), scratch_.data() + told_offset,
                      told.size_bytes(), stream_);
    wait();
  }

private:
  void wait() {
    calls_->record(done_, stream_);
    calls_->wait_here(done_);
  }

  const std::shared_ptr<device_calls> calls_ = open_cuda(0);
  const std::shared_ptr<pinned_memory> host_ = std::make_shared<pinned_memory>(calls_);
  const device_stream stream_ = calls_->make_stream();
  const device_event done_ = calls_->make_event();
  const huge_buffer staging_;
  const device_memory copied_;
  const device_memory scratch_;
  const device_memory pixels_;
  std::array<device_kernel, num_kernels> kernels_;
};

/// The host, or where LEAT_TEST_KERNELS is "cuda" the GPU, on which the same tests then run.
inline std::unique_ptr<group_device> make_group_device(const group_device::sizes& x) {
  const char* where = std::getenv("LEAT_TEST_KERNELS");
  if (where && std::strcmp(where, "cuda") == 0)
    return std::make_unique<cuda_group_device>(x);
  return std::make_unique<host_group_device>(x);
}

} // namespace leat::test
