#pragma once

#include "runtime/image/device/cpu_reason.hpp"
#include "runtime/image/jpeg/jpeg_frame.hpp"
#include "runtime/image/jpeg/scan_decoder.hpp"
#include "runtime/image/pixels/color_jitter.hpp"

#include <leat/resize_plan.hpp>
#include <leat/tensor_form.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace leat {

/// A part of the pixels that gets constant values: of R, G, B.
struct erased_part {
  pixel_rect part;
  std::array<float, 3> values;
};

/// Who makes the planes of a group's images.
enum class planes_by : std::uint8_t {
  /// leat's own kernels, of the part that is needed.
  kernels,
  /// Somebody else, before the kernels: whole planes, at full size.
  others,
};

/// One image to be decoded; all of it is borrowed for a call.
struct group_image {
  std::span<const std::byte> file;
  /// Scaled by `dct_scale_for(plan)`, as image_reader does it; at full size for planes by others.
  const jpeg_frame* frame = nullptr;
  /// Of this file, from column 0 on in each MCU row; none for planes by others.
  std::span<const work_place> places;
  const resize_plan* plan = nullptr;
  const tensor_form* form = nullptr;
  /// How colours are adjusted once pixels are made, as leat::adjust_color does it between floats
  /// and the tensor. Null: pixels become elements at once.
  const color_jitter_factors* jitter = nullptr;
  /// Null: none.
  const erased_part* erased = nullptr;
  /// Where the pixels go: an address of the device, aligned for an element.
  std::byte* pixels = nullptr;
};

} // namespace leat
