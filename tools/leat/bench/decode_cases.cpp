#include "tools/leat/bench/decode_cases.hpp"

#include "runtime/image/image_format.hpp"
#include "runtime/image/image_reader.hpp"
#include "runtime/image/jpeg/row_places.hpp"
#include "runtime/image/pixels/crop.hpp"
#include "runtime/image/pixels/image_view.hpp"
#include "runtime/sample/sample_access.hpp"

#include <leat/bad_sample.hpp>
#include <leat/image.hpp>
#include <leat/rng.hpp>

#include "tools/leat/bench/plain_image.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace leat::command {

namespace {

resize_plan plan_of(const image_size& image, decode_transform transform, std::uint64_t number) {
  if (transform == decode_transform::eval)
    return central_view(image, pixels_across * 256 / 224, pixels_across);
  rng random{0, number};
  const image_options standard;
  const auto crop = random_crop(image, {standard.scale, standard.ratio}, random);
  const bool mirrored = random.coin(standard.flip);
  return {crop, {pixels_across, pixels_across}, {0, 0, pixels_across, pixels_across}, mirrored};
}

/// Throws `bad_sample` for what cannot be decoded every way: libjpeg may fail on damage below the
/// crop, which leat does not look at.
decode_case case_of(std::span<const std::byte> file, decode_transform transform,
                    std::uint64_t number) {
  decode_case x{{file.begin(), file.end()}, {}, {}};
  std::vector<std::byte> pixels(3 * pixels_across * pixels_across);
  const tensor_form form{.type = dtype::u8};
  image_reader reader;
  x.what = plan_of(reader.open(x.file, max_pixels), transform, number);
  reader.make(x.what, form, pixels.data());
  reader.open(x.file, max_pixels);
  reader.make_exact(x.what, form, pixels.data());
  plain_image plain;
  plain.open(x.file);
  plain.make(x.what, form, pixels.data());
  plane_decoder planes;
  planes.open(x.file, max_pixels);
  x.places = planes.survey();
  return x;
}

/// The first field that is a JPEG, by its first bytes.
std::optional<std::string> jpeg_field(const sample& x) {
  for (const auto& name : x.fields())
    if (image_format(x.bytes(name)) == "JPEG")
      return name;
  return std::nullopt;
}

} // namespace

decode_cases load_cases(const source& data, decode_transform transform, std::size_t most) {
  const auto records = data.size();
  const auto count = std::min<std::uint64_t>(records, most);
  decode_cases result;
  std::vector<scan_place> places;
  for (std::uint64_t i = 0; i < count; ++i)
    try {
      sample x;
      sample_access::reset(x, nullptr);
      data.read(i * records / count, x);
      const auto name = jpeg_field(x);
      if (!name)
        continue;
      result.images.push_back(case_of(x.bytes(*name), transform, i));
      auto& made = result.images.back();
      made.indexed = read_row_places(sample_access::places(x, *name), made.file, places);
    } catch (const bad_sample&) {
      ++result.bad;
    }
  return result;
}

double mean_bytes(const decode_cases& x) {
  double sum = 0;
  for (const auto& image : x.images)
    sum += static_cast<double>(image.file.size());
  return x.images.empty() ? 0 : sum / static_cast<double>(x.images.size());
}

} // namespace leat::command
