#pragma once

#include "runtime/image/pixels/color_jitter.hpp"
#include "runtime/image/pixels/crop.hpp"
#include "runtime/image/pixels/pad_image.hpp"
#include "runtime/image/pixels/random_erasing.hpp"

#include <leat/tensor_form.hpp>
#include <leat/transforms.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace leat {

struct random_resized_crop_step {
  image_size size;
  crop_ranges ranges;
};

struct resize_step {
  /// The shorter side; or, where it is 0, `size`.
  std::size_t shorter = 0;
  image_size size;
};

struct center_crop_step {
  image_size size;
};

struct flip_step {
  double probability;
};

using image_step = std::variant<random_resized_crop_step, resize_step, center_crop_step, flip_step,
                                padding, color_jitter_ranges>;

struct erasing_step {
  erasing_ranges ranges;
  std::array<float, 3> values;
  bool noise;
};

/// What a list of transforms says, checked.
struct image_chain {
  std::vector<image_step> steps;
  tensor_form form;
  std::optional<erasing_step> erasing;
};

/// Throws `errc::invalid_argument` with `stage`: an unknown name, arguments out of range, an order
/// that makes no sense.
image_chain read_transforms(const std::vector<image_transform>& transforms,
                            const std::string& stage);

/// "resize:256,center_crop:224:224", without spaces.
std::string to_text(const std::vector<image_transform>& transforms);
/// Reads what `to_text` writes; of another text, transforms that `read_transforms` refuses.
std::vector<image_transform> parse_transforms(std::string_view text);

} // namespace leat
