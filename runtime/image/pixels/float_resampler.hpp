#pragma once

#include "runtime/image/pixels/axis_weights.hpp"
#include "runtime/image/pixels/float_image.hpp"

#include <leat/resize_plan.hpp>

#include <vector>

namespace leat {

/// Resizes a part of an image of floats, antialiased bilinear, summed in double precision: for
/// transforms after one that needed the pixels. Keeps its buffers; used by one thread at a time.
class float_resampler {
public:
  /// `to` has the window's size and shares no memory with `from`.
  void resize(const float_image& from, const resize_plan& what, const float_image& to);

private:
  axis_weights columns_;
  axis_weights rows_;
  std::vector<double> narrowed_;
};

} // namespace leat
