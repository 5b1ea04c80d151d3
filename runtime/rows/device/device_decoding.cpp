#include "runtime/rows/device/device_decoding.hpp"

#include "runtime/device/device_jpegs.hpp"
#include "runtime/image/late_image.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
/// All workers' together, if they share it: some 2,000 photographs.
constexpr std::size_t most_scratch = 2048 * mebibyte;

/// As leat's maps make images: three channels, in floats or bytes.
bool is_image(const field_layout& x) {
  const bool has_type =
      x.type == dtype::u8 || x.type == dtype::f32 || x.type == dtype::f16 || x.type == dtype::bf16;
  return has_type && !x.ragged && x.dims.rank() == 3 && (x.dims[0] == 3 || x.dims[2] == 3);
}

} // namespace

std::vector<bool> fields_made_there(const job_plan& plan, const std::vector<bool>& go_there) {
  const auto& maps = plan.samples->maps;
  if (std::none_of(maps.begin(), maps.end(), [](const auto& x) { return makes_image(x.name); }))
    return {};
  std::vector<bool> found;
  for (std::size_t i = 0; i < go_there.size(); ++i)
    found.push_back(go_there[i] && is_image(plan.layout->fields()[i]));
  if (std::find(found.begin(), found.end(), true) == found.end())
    found.clear();
  return found;
}

std::size_t device_decoding::scratch_for(std::size_t workers) {
  const auto groups = std::max<std::size_t>(workers, 1) * groups_of_worker;
  return std::clamp(most_scratch / groups, 32 * mebibyte, 128 * mebibyte);
}

device_decoding::device_decoding(std::shared_ptr<device_calls> calls_,
                                 std::shared_ptr<pinned_memory> host_, std::size_t scratch_,
                                 bool copies_back_, bool is_forced_, decoded_by by_)
    : calls(std::move(calls_)), host(std::move(host_)), by(by_),
      kernels(calls->kernels()), functions{}, copies_back(copies_back_), is_forced(is_forced_),
      scratch(scratch_), staging(scratch / 8) {
  for (std::size_t i = 0; i < num_kernels; ++i)
    functions[i] = kernels.find(name_of(static_cast<kernel>(i)));
  if (by == decoded_by::nvjpeg)
    (void)calls->open_jpegs(); // throws; each worker has its own
}

} // namespace leat
