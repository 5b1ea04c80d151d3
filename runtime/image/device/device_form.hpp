#pragma once

#include "runtime/image/device/device_image.hpp"
#include "runtime/image/device/group_image.hpp"
#include "runtime/image/device/group_room.hpp"

#include <optional>

namespace leat {

/// Says what a device makes of an image: the part that is decoded, planes, codes, axes, pixels, and
/// what all that takes, but for stretches and their bytes; of planes by others no codes. Where
/// elements begin is counted from the image's own first ones. `to` and `takes` are zeros. Why not,
/// or nothing.
std::optional<cpu_reason> describe(const group_image& from, planes_by by, device_image& to,
                                   group_room& takes);

/// Moves an image's elements behind those that a group has already.
void shift(device_image& x, const group_room& before) noexcept;

} // namespace leat
