#pragma once

#include "runtime/image/pixels/axis_weights.hpp"
#include "runtime/image/pixels/rgb_view.hpp"

#include <leat/resize_plan.hpp>
#include <leat/tensor_form.hpp>

#include <cstddef>
#include <vector>

namespace leat {

/// Resizes a part of an image by the book: antialiased bilinear in double precision, rows first,
/// rounded once, at the end. What all faster ways are held against; as torchvision's and Pillow's
/// antialiased resize, but for their roundings in between.
/// Keeps its buffers from image to image; used by one thread at a time.
class reference_resampler {
public:
  /// Returns the part of the image that is needed: within `what.source`.
  pixel_rect plan(const resize_plan& what);
  /// Takes the next rows of that part, from the top down.
  void load(const rgb_view& rows);
  /// Writes the window, when all rows are loaded.
  void write(const tensor_form& form, std::byte* to) const;

private:
  resize_plan what_;
  axis_weights columns_;
  axis_weights rows_;
  /// Rows as wide as the window, R, G, B in turns.
  std::vector<double> narrowed_;
  std::size_t loaded_ = 0;
};

} // namespace leat
