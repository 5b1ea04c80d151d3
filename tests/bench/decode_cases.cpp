#include "tests/bench/decode_cases.hpp"

#include "runtime/image_reader.hpp"
#include "runtime/pixels/crop.hpp"
#include "runtime/pixels/image_view.hpp"
#include "runtime/sample_access.hpp"
#include "runtime/stage.hpp"

#include <leat/bad_sample.hpp>
#include <leat/error.hpp>
#include <leat/image.hpp>
#include <leat/rng.hpp>

#include <algorithm>
#include <cstdint>

namespace leat::bench {

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

/// Throws `bad_sample` for what cannot be decoded.
decode_case case_of(std::span<const std::byte> file, decode_transform transform,
                    std::uint64_t number) {
  decode_case x{{file.begin(), file.end()}, {}, {}};
  image_reader reader;
  x.what = plan_of(reader.open(x.file, max_pixels), transform, number);
  std::vector<std::byte> pixels(3 * pixels_across * pixels_across);
  reader.make(x.what, {.type = dtype::u8}, pixels.data());
  plane_decoder planes;
  planes.open(x.file, max_pixels);
  x.places = planes.survey();
  return x;
}

} // namespace

decode_cases load_cases(const command::data_arguments& data, decode_transform transform,
                        std::size_t most) {
  const auto pipeline = command::data_pipeline(data);
  if (!pipeline.root().data || !command::holds_images(pipeline))
    throw error(
        errc::invalid_argument,
        {.stage = "DATA", .got = data.data.front(), .needed = "a folder or tar shards of JPEGs"});
  const auto source = pipeline.root().data->get();
  const auto records = source->size();
  const auto count = std::min<std::uint64_t>(records, most);
  decode_cases result;
  for (std::uint64_t i = 0; i < count; ++i) {
    sample x;
    sample_access::reset(x, nullptr);
    source->read(i * records / count, x);
    try {
      result.images.push_back(case_of(x.bytes(x.has("jpg") ? "jpg" : "jpeg"), transform, i));
    } catch (const bad_sample&) {
      ++result.bad;
    }
  }
  if (result.images.empty())
    throw error(errc::invalid_argument,
                {.stage = "DATA", .got = "no image", .needed = "JPEGs that can be decoded"});
  return result;
}

} // namespace leat::bench
