#pragma once

#include <leat/resize_plan.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace leat {

/// How outputs of one axis are made of inputs: antialiased bilinear, a triangle as wide as an
/// output pixel, at least two inputs.
struct axis_cut {
  /// Inputs that may be used: `inputs` of them, from number `begin`.
  std::size_t begin = 0;
  std::size_t inputs = 0;
  /// Where the first output would begin, in inputs after `begin`, and how wide an output is.
  double origin = 0;
  double scale = 1;
  /// The outputs that are wanted, in that grid.
  std::size_t first_output = 0;
  std::size_t outputs = 0;
  bool mirrored = false;
};

/// Columns and rows of a resize.
axis_cut cut_across(const resize_plan& what);
axis_cut cut_down(const resize_plan& what);

/// Weights of inputs for outputs, in one order: output i is the sum over t < count[i] of
/// `at(i)[t]` times input `first[i] + t`. The weights of an output add up to 1.
struct axis_weights {
  std::vector<std::size_t> first;
  std::vector<std::size_t> count;
  std::vector<double> weights;
  /// Distance of outputs in `weights`.
  std::size_t taps = 0;

  std::size_t outputs() const noexcept { return first.size(); }
  const double* at(std::size_t i) const noexcept { return weights.data() + i * taps; }
  /// The inputs that are needed: low .. high-1.
  std::size_t low() const noexcept;
  std::size_t high() const noexcept;

  /// Source: precompute_coeffs in Pillow's src/libImaging/Resample.c, with its order of operations.
  void plan(const axis_cut& cut);

  /// Weights for the same outputs from a plane that has one sample for `ratio` inputs, `samples` in
  /// all, as if the plane were first enlarged. Each sample is repeated, or, with `smooth` (ratio
  /// 2), weighed as three quarters of the nearer one and a quarter of the other, as libjpeg's
  /// "fancy" upsampling does.
  void fold(const axis_weights& full, std::size_t ratio, bool smooth, std::size_t samples);

  /// Weights for the same outputs from means of `each` neighbouring inputs, `means` in all. Inputs
  /// are taken to lie on a parabola through their mean and those beside it, so some weights are
  /// negative. Source: P. Colella, P. Woodward, "The Piecewise Parabolic Method", J. Comput. Phys.
  /// 54 (1984), section 1, without its limits.
  void fold_means(const axis_weights& full, std::size_t each, std::size_t means);

private:
  void resize(std::size_t outputs, std::size_t most_taps);
};

/// The weights as whole numbers: multiples of 2^-14 that add up to 1, with the odd bits added to
/// the highest weight, and without zeros at both ends.
struct fixed_weights {
  static constexpr int bits = 14;

  std::vector<std::size_t> first;
  std::vector<std::size_t> count;
  std::vector<std::int16_t> weights;
  std::size_t taps = 0;

  std::size_t outputs() const noexcept { return first.size(); }
  const std::int16_t* at(std::size_t i) const noexcept { return weights.data() + i * taps; }
  std::size_t low() const noexcept;
  std::size_t high() const noexcept;

  void assign(const axis_weights& exact);
};

} // namespace leat
