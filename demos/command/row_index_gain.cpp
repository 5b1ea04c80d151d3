#include "demos/command/row_index_gain.hpp"

#include "runtime/image_reader.hpp"
#include "runtime/jpeg/row_places.hpp"
#include "runtime/pixels/crop.hpp"
#include "runtime/sample_access.hpp"

#include <leat/bad_sample.hpp>

#include <algorithm>
#include <chrono>
#include <vector>

namespace leat::command {

namespace {

constexpr std::size_t size = 224;

struct image {
  std::vector<std::byte> file;
  std::vector<scan_place> places;
  resize_plan plan;
};

/// The record's first image that has a row index.
std::optional<image> image_of(const source& data, std::uint64_t record, image_reader& reader) try {
  sample x;
  sample_access::reset(x, nullptr);
  data.read(record, x);
  for (const auto& name : x.fields()) {
    const auto file = x.bytes(name);
    image found{{file.begin(), file.end()}, {}, {}};
    if (!read_row_places(sample_access::places(x, name), file, found.places))
      continue;
    rng random{0, record};
    const auto whole = reader.open(found.file, decode_options{}.max_pixels);
    const image_options usual;
    found.plan = {random_crop(whole, {usual.scale, usual.ratio}, random),
                  {size, size},
                  {0, 0, size, size},
                  random.coin(usual.flip)};
    return found;
  }
  return std::nullopt;
} catch (const bad_sample&) {
  return std::nullopt;
}

double seconds_of(image_reader& reader, const std::vector<image>& images, bool with_places) {
  std::vector<float> pixels(size * size * 3);
  const auto start = std::chrono::steady_clock::now();
  for (const auto& x : images) {
    reader.open(x.file, decode_options{}.max_pixels,
                with_places ? std::span<const scan_place>{x.places}
                            : std::span<const scan_place>{});
    reader.make(x.plan, {}, reinterpret_cast<std::byte*>(pixels.data()));
  }
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

std::optional<row_index_gain> measure_gain(const source& data) {
  constexpr std::uint64_t most = 200;
  constexpr int rounds = 5;
  image_reader reader;
  std::vector<image> images;
  const auto records = data.size();
  for (std::uint64_t i = 0; i < std::min(most, records); ++i)
    if (auto x = image_of(data, i * records / std::min(most, records), reader))
      images.push_back(std::move(*x));
  if (images.empty())
    return std::nullopt;
  std::vector<double> ratios;
  ratios.reserve(rounds);
  for (int i = 0; i < rounds; ++i) {
    const auto without = seconds_of(reader, images, false);
    ratios.push_back(without / seconds_of(reader, images, true));
  }
  std::sort(ratios.begin(), ratios.end());
  return row_index_gain{ratios[rounds / 2], images.size()};
}

} // namespace leat::command
