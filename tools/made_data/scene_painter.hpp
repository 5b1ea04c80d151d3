#pragma once

#include <leat/rng.hpp>

#include "tools/made_data/rgb_image.hpp"

#include <cstddef>

namespace leat {

/// Paints one photograph-like scene: sky and ground with soft light and texture, blurred spots, and
/// in front an object whose shape, colour and pattern tell its class. `label`: 0 to 9.
/// Place, size, tilt, colours, image size and grain are drawn from `random`.
/// Integer arithmetic throughout: the same pixels on every machine.
rgb_image paint_scene(std::size_t label, rng& random);

} // namespace leat
