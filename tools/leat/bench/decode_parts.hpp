#pragma once

#include <leat/decode_times.hpp>
#include <leat/image_decoder.hpp>

#include "tools/leat/bench/decode_cases.hpp"
#include "tools/leat/bench/image_ring.hpp"

#include <array>
#include <vector>

namespace leat::command {

/// Microseconds per image, by part.
using part_times = std::array<double, num_decode_parts>;

/// Decodes all images once in this thread.
part_times time_parts(image_decoder& by, const std::vector<const decode_case*>& images,
                      bool with_rows, const tensor_form& form, image_ring& to);

/// The images that leat's own decoder takes.
std::vector<const decode_case*> own_ones(const decode_cases& images);

} // namespace leat::command
