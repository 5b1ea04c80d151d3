#pragma once

#include <leat/rng.hpp>

#include <span>
#include <vector>

namespace leat {

/// Smooth random hills over an image: random heights on a square lattice, blended in between.
/// Source: value noise with the smoothstep blend 3t^2 - 2t^3, here in integers.
class value_noise {
public:
  /// `cell`: distance of lattice points in pixels, at least 1. Heights lie in
  /// [-amplitude, amplitude).
  value_noise(int width, int height, int cell, int amplitude, rng& random);

  /// Adds row `y` to `row`, which is `width` long.
  void add_row(int y, std::span<int> row) const;

private:
  int cell_;
  int columns_;
  /// Blend of two lattice points at each distance from the first, in 1/256.
  std::vector<int> blend_;
  /// Row-major, in 1/256.
  std::vector<int> heights_;
};

} // namespace leat
