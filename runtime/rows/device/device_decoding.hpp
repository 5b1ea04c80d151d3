#pragma once

#include "runtime/base/metrics.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/device/device_kernels.hpp"
#include "runtime/device/pinned_memory.hpp"
#include "runtime/image/device/cpu_reason.hpp"
#include "runtime/image/device/kernel_launch.hpp"
#include "runtime/rows/job_plan.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace leat {

/// Who decodes on a device.
enum class decoded_by : std::uint8_t {
  /// leat's kernels: the pixels of the processor.
  kernels,
  /// nvJPEG, to planes of which leat's kernels make pixels: others, where the two decode otherwise.
  nvjpeg,
};

/// How the workers of a job decode images on a device: what they share.
struct device_decoding : not_copied {
  /// Throws `errc::device` that says why the device cannot. `scratch`: see scratch_for().
  device_decoding(std::shared_ptr<device_calls> calls, std::shared_ptr<pinned_memory> host,
                  std::size_t scratch, bool copies_back, bool is_forced,
                  decoded_by by = decoded_by::kernels);

  /// A group's part where at most so many workers share the device's memory for this.
  static std::size_t scratch_for(std::size_t workers);

  /// One that is made, and two that the device has: while it ends one, it has another.
  static constexpr std::size_t groups_of_worker = 3;
  /// Of a group, at most: rows that are made together are in one.
  static constexpr std::size_t most_images = 256;

  const std::shared_ptr<device_calls> calls;
  const std::shared_ptr<pinned_memory> host;
  const decoded_by by;
  device_kernels& kernels;
  std::array<device_kernel, num_kernels> functions;
  /// Pixels are copied to the host's memory of the row, too.
  const bool copies_back;
  /// Too little memory on the device is an error; else processors decode.
  const bool is_forced;
  /// Bytes of a group: on the host and the device what is copied; on the device what kernels use.
  const std::size_t scratch;
  const std::size_t staging;

  // Any thread:
  counter decoded;
  counter groups;
  /// Bytes that were copied there.
  counter bytes;
  /// Images that the processor made, by reason.
  std::array<counter, num_cpu_reasons> on_cpu;
  /// What the host did for images that are decoded there.
  time_counter prepared;
  /// How long workers waited for the device.
  time_counter waited;
};

/// By field of the batch, whether rows may be made on a device: those that have the form of an
/// image that a map of leat's own makes, and that go there. None: no field may.
std::vector<bool> fields_made_there(const job_plan& plan, const std::vector<bool>& go_there);

} // namespace leat
