#pragma once

#include "runtime/image/device/cpu_reason.hpp"
#include "runtime/image/device/group_image.hpp"
#include "runtime/image/jpeg/jpeg_frame.hpp"
#include "runtime/image/jpeg/scan_decoder.hpp"

#include <leat/resize_plan.hpp>
#include <leat/tensor_form.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

namespace leat {

class image_maker;

/// Whether a map with this name, "train_image@1", is one of leat's that make images.
inline bool makes_image(std::string_view map) noexcept {
  return map.find("_image@") != std::string_view::npos;
}

/// An image whose random decisions are made, and whose pixels are not: those of `plan`, with
/// colours adjusted, as the form says, and with a part of them replaced.
struct late_image {
  /// Makes them in this thread: image_maker::make_now().
  image_maker* maker = nullptr;
  /// Borrowed until the row is done: sources that know of places lend it.
  std::span<const std::byte> file = {};
  /// Of its MCU rows; borrowed likewise.
  std::span<const scan_place> places = {};
  /// Why it can only be made at once; then the rest is not said.
  std::optional<cpu_reason> why = {};

  // Borrowed for the call that hands it over:
  /// What the source knows of the file's places by work: see read_work_places().
  std::span<const std::byte> work_bytes = {};
  /// As it is decoded for the plan.
  const jpeg_frame* frame = nullptr;

  resize_plan plan = {};
  tensor_form form = {};
  std::optional<color_jitter_factors> jitter = {};
  std::optional<erased_part> erased = {};

  image_size size() const noexcept { return {plan.window.width, plan.window.height}; }
};

} // namespace leat
