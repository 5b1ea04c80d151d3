#pragma once

#include <leat/tensor.hpp>
#include <leat/transforms.hpp>

#include <array>

namespace leat {

/// How pixels become elements of a tensor: u8 as they are, rounded; floats (f32, f16, bf16) as
/// (value / 255 - mean) / std of their channel.
struct tensor_form {
  dtype type = dtype::f32;
  image_layout layout = image_layout::nchw;
  std::array<float, 3> mean{};
  std::array<float, 3> std{1, 1, 1};
};

} // namespace leat
