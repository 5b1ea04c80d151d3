#include "tools/leat/bench/decode_parts.hpp"

#include "tools/leat/output.hpp"

namespace leat::command {

part_times time_parts(image_decoder& by, const std::vector<const decode_case*>& images,
                      bool with_rows, const tensor_form& form, image_ring& to) {
  decode_times times;
  by.time(&times);
  for (const auto* x : images)
    x->decode(by, with_rows, form, to.next());
  by.time(nullptr);
  part_times result{};
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = 1e6 * in_seconds(times.time_in(static_cast<decode_part>(i)))
                / static_cast<double>(images.size());
  return result;
}

std::vector<const decode_case*> own_ones(const decode_cases& images) {
  std::vector<const decode_case*> result;
  for (const auto& x : images.images)
    if (x.is_own)
      result.push_back(&x);
  return result;
}

} // namespace leat::command
