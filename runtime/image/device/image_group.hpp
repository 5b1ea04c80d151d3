#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/image/device/cpu_reason.hpp"
#include "runtime/image/device/device_image.hpp"
#include "runtime/image/jpeg/jpeg_frame.hpp"
#include "runtime/image/jpeg/scan_decoder.hpp"

#include <leat/resize_plan.hpp>
#include <leat/tensor_form.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace leat {

/// A part of the pixels that gets constant values: of R, G, B.
struct erased_part {
  pixel_rect part;
  std::array<float, 3> values;
};

/// One image to be decoded; all of it is borrowed for a call.
struct group_image {
  std::span<const std::byte> file;
  /// Scaled by `dct_scale_for(plan)`, as image_reader does it.
  const jpeg_frame* frame = nullptr;
  /// Of this file, from column 0 on in each MCU row.
  std::span<const work_place> places;
  const resize_plan* plan = nullptr;
  const tensor_form* form = nullptr;
  /// Null: none.
  const erased_part* erased = nullptr;
  /// Where the pixels go: an address of the device, aligned for an element.
  std::byte* pixels = nullptr;
};

/// Images that a device decodes together, as its kernels read them. Their pixels are those of
/// image_reader, but for images that the device tells of: those the processor judges, and makes.
/// Keeps its buffers; used by one thread at a time.
class image_group : not_copied {
public:
  /// `staging`: memory of the host, pinned where it can be, that is copied to the device at once.
  /// `scratch`: bytes of the device's memory that kernels use between them. Both begin at multiples
  /// of `alignment`, here and there.
  image_group(std::span<std::byte> staging, std::size_t scratch);

  static constexpr std::size_t alignment = 64;

  /// Forgets all images.
  void clear();

  /// `full`: there is no room left for this one, but there will be in the next group.
  enum class added : std::uint8_t { yes, full, no };
  /// Its number is size() - 1. Copies what is needed of the file to `staging`. Where the answer is
  /// no, `why` tells.
  added add(const group_image& x);
  cpu_reason why() const noexcept { return why_; }

  /// Has nothing written for an image: the processor makes it after all.
  void withdraw(std::size_t number);

  /// Images that were added, those that were withdrawn among them.
  std::size_t size() const noexcept { return images_.size(); }

  /// Ends the group: what its kernels are launched with, once the first `bytes_to_copy` bytes of
  /// `staging` lie at `device_staging`. At least one image was added.
  device_group seal(const std::byte* device_staging, std::byte* device_scratch);
  std::size_t bytes_to_copy() const noexcept { return bytes_to_copy_; }
  /// Where in `scratch` there is a number of 32 bits for each image: not 0 if it was told.
  static constexpr std::size_t told_offset() noexcept { return 0; }

private:
  /// What images take.
  struct room;
  struct need;

  std::span<std::byte> staging_;
  std::size_t scratch_;
  cpu_reason why_ = cpu_reason::no_places;
  std::size_t bytes_to_copy_ = 0;
  std::vector<device_image> images_;
};

} // namespace leat
