#include "runtime/pixels/crop.hpp"
#include "runtime/image_writer.hpp"
#include "runtime/jpeg/jpeg_decoder.hpp"
#include "runtime/resample.hpp"

#include <leat/image.hpp>

#include <charconv>
#include <cmath>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

namespace {

constexpr std::size_t max_size = 4096;

/// Shortest text that reads back as the same number.
template <class T>
std::string text_of(T x) {
  char buffer[32];
  return {buffer, std::to_chars(std::begin(buffer), std::end(buffer), x).ptr};
}

template <class T, std::size_t N>
std::string text_of(const std::array<T, N>& xs) {
  std::string result;
  for (const auto& x : xs)
    result += (result.empty() ? "" : ",") + text_of(x);
  return result;
}

std::vector<std::string> split_names(std::string_view field) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= field.size();) {
    const auto end = std::min(field.find(';', begin), field.size());
    names.emplace_back(field.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

/// The first that the sample has; the first of all when it has none.
const std::string& choose(const std::vector<std::string>& names, const sample& from) {
  for (const auto& x : names)
    if (from.has(x))
      return x;
  return names.front();
}

void require(bool good, const char* stage, const char* option, const std::string& got,
             const char* needed) {
  if (!good)
    throw error(errc::invalid_argument,
                {.stage = stage, .got = std::string{option} + " " + got, .needed = needed});
}

void check_names(const std::string& field, const char* stage) {
  for (const auto& x : split_names(field))
    require(!x.empty(), stage, "field", "\"" + field + "\"", "names, parted by ;");
}

void check_range(const std::array<double, 2>& x, double highest, const char* stage,
                 const char* option) {
  require(x[0] > 0 && x[0] <= x[1] && x[1] <= highest, stage, option, text_of(x),
          highest == 1 ? "0 < lowest <= highest <= 1" : "0 < lowest <= highest <= 1000");
}

/// What both transforms share. Written so that not-a-number fails too.
void check_common(const image_options& x, const char* stage) {
  require(x.size >= 1 && x.size <= max_size, stage, "size", text_of(x.size), "1 to 4096");
  require(x.type == dtype::u8 || x.type == dtype::f32, stage, "type",
          std::string{to_string(x.type)}, "u8 or f32");
  require(x.max_pixels >= 1, stage, "max_pixels", text_of(x.max_pixels), "at least 1");
  for (std::size_t c = 0; c < 3; ++c) {
    require(std::isfinite(x.mean[c]), stage, "mean", text_of(x.mean), "finite numbers");
    require(x.deviation[c] > 0 && std::isfinite(x.deviation[c]), stage, "deviation",
            text_of(x.deviation), "finite numbers above 0");
  }
}

void check_train(const image_options& x, const char* stage) {
  check_common(x, stage);
  check_range(x.scale, 1, stage, "scale");
  check_range(x.ratio, 1000, stage, "ratio");
  require(x.flip >= 0 && x.flip <= 1, stage, "flip", text_of(x.flip), "0 to 1");
}

void check_eval(const image_options& x, const char* stage) {
  check_common(x, stage);
  require(x.resize >= x.size && x.resize <= 2 * max_size, stage, "resize", text_of(x.resize),
          "size to 8192");
}

std::string common_text(const std::string& field, const image_options& x) {
  return "field=" + field + " size=" + text_of(x.size) + " type=" + std::string{to_string(x.type)}
         + " layout=" + (x.layout == image_layout::nchw ? "nchw" : "nhwc")
         + " mean=" + text_of(x.mean) + " deviation=" + text_of(x.deviation)
         + " max_pixels=" + text_of(x.max_pixels);
}

/// One worker's decoder and buffers, and what becomes of a JPEG.
class image_maker {
public:
  image_maker(const std::string& field, const image_options& options)
      : options_(options), names_(split_names(field)), writer_(options) {}

  void train(sample& to, context& in) {
    const auto& name = choose(names_, to);
    const auto image = decoder_.open(to.bytes(name), options_.max_pixels);
    const auto crop = random_crop(image, {options_.scale, options_.ratio}, in.rng());
    const bool mirrored = in.rng().coin(options_.flip);
    const auto size = options_.size;
    make(to, name, crop, {size, size}, {0, 0, size, size}, mirrored);
  }

  void eval(sample& to) {
    const auto& name = choose(names_, to);
    const auto image = decoder_.open(to.bytes(name), options_.max_pixels);
    const auto crop = resize_and_crop(image, options_.resize, options_.size);
    make(to, name, {0, 0, image.width, image.height}, crop.resized, crop.window, false);
  }

private:
  void make(sample& to, const std::string& name, const pixel_rect& source,
            const image_size& resized, const pixel_rect& window, bool mirrored) {
    const auto needed = resampler_.plan(source, resized, window, mirrored);
    decoder_.start(needed);
    for (auto rows = decoder_.next_rows(); rows.height > 0; rows = decoder_.next_rows())
      resampler_.load(rows);
    to.erase(name);
    auto* image = to.make_tensor("image", writer_.type(), writer_.dims());
    for (std::size_t y = 0; y < window.height; ++y)
      writer_.write(image, y, resampler_.row(y));
  }

  image_options options_;
  std::vector<std::string> names_;
  jpeg_decoder decoder_;
  resampler resampler_;
  image_writer writer_;
};

bool is_space(char x) {
  return x == ' ' || x == '\t' || x == '\r' || x == '\n';
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && is_space(text.back()))
    text.remove_suffix(1);
  return text;
}

std::int64_t parse_int(std::string_view text) {
  const auto digits = trimmed(text);
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (failure != std::errc{} || end != digits.data() + digits.size())
    throw bad_sample(cause::corrupt, "\"" + std::string{text.substr(0, 40)}
                                         + "\" is no decimal integer of 64 bits");
  return value;
}

} // namespace

map_stage train_image(std::string field, image_options options) {
  constexpr auto stage = "train_image@1";
  check_names(field, stage);
  check_train(options, stage);
  auto text = common_text(field, options) + " scale=" + text_of(options.scale)
              + " ratio=" + text_of(options.ratio) + " flip=" + text_of(options.flip);
  return {stage, std::move(text), [field = std::move(field), options] {
            auto maker = std::make_shared<image_maker>(field, options);
            return [maker](sample& to, context& in) { maker->train(to, in); };
          }};
}

map_stage eval_image(std::string field, image_options options) {
  constexpr auto stage = "eval_image@1";
  if (options.resize == 0)
    options.resize = options.size * 256 / 224;
  check_names(field, stage);
  check_eval(options, stage);
  auto text = common_text(field, options) + " resize=" + text_of(options.resize);
  return {stage, std::move(text), [field = std::move(field), options] {
            auto maker = std::make_shared<image_maker>(field, options);
            return [maker](sample& to, context&) { maker->eval(to); };
          }};
}

map_stage int_label(const std::string& field) {
  constexpr auto stage = "int_label@1";
  check_names(field, stage);
  auto text = "field=" + field;
  return {stage, std::move(text), [names = split_names(field)] {
            return [names](sample& to, context&) {
              const auto& name = choose(names, to);
              const auto value = parse_int(to.text(name));
              to.erase(name);
              to.set("label", value);
            };
          }};
}

} // namespace leat
