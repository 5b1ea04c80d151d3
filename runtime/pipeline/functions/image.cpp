#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/number_text.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/image/image_maker.hpp"
#include "runtime/image/jpeg/row_places.hpp"
#include "runtime/image/pixels/crop.hpp"
#include "runtime/image/pixels/image_chain.hpp"
#include "runtime/image/pixels/image_view.hpp"
#include "runtime/pipeline/functions/field_values.hpp"
#include "runtime/sample/source_access.hpp"

#include <leat/image.hpp>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

namespace {

constexpr auto image_field = "image";

std::vector<std::string> split_names(std::string_view field) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= field.size();) {
    const auto end = std::min(field.find(';', begin), field.size());
    names.emplace_back(field.substr(begin, end - begin));
    begin = end + 1;
  }
  return names;
}

/// The first name that the sample has; the first of all if it has none.
const std::string& choose(const std::vector<std::string>& names, const sample& from) {
  for (const auto& x : names)
    if (from.has(x))
      return x;
  return names.front();
}

void require(bool good, const char* stage, const char* option, const std::string& got,
             const char* needed) {
  if (!good)
    refuse_argument(stage, std::string{option} + " " + got, needed);
}

void check_names(const std::string& field, const char* stage) {
  for (const auto& x : split_names(field))
    require(!x.empty(), stage, "field", "\"" + field + "\"", "names, separated by \";\"");
}

/// The map: reads the field's file and makes "image" from it.
map_function image_function(const std::vector<std::string>& names, const image_chain& chain,
                            const decode_options& options) {
  auto maker = std::make_shared<image_maker>(chain, options);
  auto places = std::make_shared<std::vector<scan_place>>();
  return [names, maker, places](sample& to, context& in) {
    const auto& name = choose(names, to);
    const auto file = to.bytes(name);
    read_row_places(source_access::places(to, name), file, *places);
    // The file stays readable until the map is done, even if the tensor takes its field's place.
    const auto tensor = [&](const shape& dims) {
      return to.make_tensor(image_field, maker->form().type, dims);
    };
    if (name != image_field && source_access::has_late_fields(to)) {
      const auto work_bytes = source_access::places(to, name, place_kind::work);
      maker->make(file, *places, in.rng(), tensor, [&](late_image& x) {
        x.work_bytes = work_bytes;
        return source_access::make_later(to, image_field, x);
      });
    } else {
      maker->make(file, *places, in.rng(), tensor);
    }
    if (name != image_field)
      to.erase(name);
  };
}

map_stage image_stage(const char* stage, std::string parameters, const std::string& field,
                      const std::vector<image_transform>& transforms,
                      const decode_options& options) {
  check_names(field, stage);
  require(options.max_pixels >= 1, stage, "max_pixels", std::to_string(options.max_pixels),
          "at least 1");
  return {stage, std::move(parameters),
          [names = split_names(field), chain = read_transforms(transforms, stage), options] {
            return image_function(names, chain, options);
          }};
}

template <class T, std::size_t N>
std::string list_text(const std::array<T, N>& xs) {
  return listed(xs, number_text<T>, ",");
}

std::string common_text(const std::string& field, const image_options& x) {
  return "field=" + field + " size=" + number_text(x.size)
         + " type=" + std::string{to_string(x.type)}
         + " layout=" + (x.layout == image_layout::nchw ? "nchw" : "nhwc")
         + " mean=" + list_text(x.mean) + " std=" + list_text(x.std)
         + " max_pixels=" + number_text(x.max_pixels) + (x.exact ? " exact=true" : "");
}

/// Adds what follows the steps that both short forms share.
void add_form(std::vector<image_transform>& to, const image_options& x) {
  auto doubles = [](const std::array<float, 3>& from) {
    return std::array<double, 3>{from[0], from[1], from[2]};
  };
  if (x.type != dtype::u8)
    to.push_back(normalize(doubles(x.mean), doubles(x.std)));
  to.push_back(to_dtype(x.type));
  to.push_back(to_layout(x.layout));
}

constexpr std::size_t max_extent = 8192;

/// Shorter side before the central crop.
std::size_t shorter_side(const image_options& x) {
  return x.resize == 0 ? x.size * 256 / 224 : x.resize;
}

void check_plan(const char* stage, const image_size& image, const image_options& x) {
  require(image.width >= 1 && image.height >= 1, stage, "image without pixels:",
          std::to_string(image.width) + " x " + std::to_string(image.height), "at least 1 x 1");
  require(x.size >= 1 && x.size <= max_extent, stage, "size", number_text(x.size), "1 to 8192");
}

void check_range(const char* stage, const char* option, const std::array<double, 2>& x,
                 double highest) {
  // Not a number fails, too.
  require(x[0] > 0 && x[0] <= x[1] && x[1] <= highest, stage, option, list_text(x),
          highest == 1 ? "0 < lowest <= highest <= 1" : "0 < lowest <= highest <= 1000");
}

/// The text for an error, which is one line, since any bytes may stand in a field that should be a
/// number. A long text is cut after a whole character.
std::string quoted(std::string_view text) {
  const bool is_text =
      std::all_of(text.begin(), text.end(), [](unsigned char x) { return x >= ' '; });
  if (!is_text)
    return "a field of " + std::to_string(text.size()) + " bytes that are not a text";
  auto end = std::min<std::size_t>(text.size(), 40);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80)
    --end;
  return '"' + as_utf8(text.substr(0, end)) + '"';
}

std::int64_t parse_int(std::string_view text) {
  const auto digits = trimmed(text);
  std::int64_t value = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (failure != std::errc{} || end != digits.data() + digits.size())
    throw bad_sample(cause::corrupt, quoted(text) + " is not a decimal integer of 64 bits");
  return value;
}

} // namespace

map_stage decode_image(const std::string& field, const std::vector<image_transform>& transforms,
                       const decode_options& options) {
  auto text = "field=" + field + " transforms=" + to_text(transforms) + " max_pixels="
              + number_text(options.max_pixels) + (options.exact ? " exact=true" : "");
  return image_stage("decode_image@1", std::move(text), field, transforms, options);
}

map_stage train_image(const std::string& field, image_options options) {
  auto text = common_text(field, options) + " scale=" + list_text(options.scale)
              + " ratio=" + list_text(options.ratio) + " flip=" + number_text(options.flip);
  std::vector<image_transform> transforms{
      random_resized_crop(options.size, options.scale, options.ratio),
      random_horizontal_flip(options.flip)};
  add_form(transforms, options);
  return image_stage("train_image@1", std::move(text), field, transforms,
                     {.exact = options.exact, .max_pixels = options.max_pixels});
}

map_stage eval_image(const std::string& field, image_options options) {
  options.resize = shorter_side(options);
  auto text = common_text(field, options) + " resize=" + number_text(options.resize);
  std::vector<image_transform> transforms{resize(options.resize), center_crop(options.size)};
  add_form(transforms, options);
  require(options.resize >= options.size, "eval_image@1", "resize", number_text(options.resize),
          "size to 8192");
  return image_stage("eval_image@1", std::move(text), field, transforms,
                     {.exact = options.exact, .max_pixels = options.max_pixels});
}

resize_plan train_image_plan(const image_size& image, rng& random, const image_options& options) {
  constexpr auto stage = "train_image_plan";
  check_plan(stage, image, options);
  check_range(stage, "scale", options.scale, 1);
  check_range(stage, "ratio", options.ratio, 1000);
  require(options.flip >= 0 && options.flip <= 1, stage, "flip", number_text(options.flip),
          "0 to 1");
  image_view view{image};
  view.crop(random_crop(image, {options.scale, options.ratio}, random));
  view.resize({options.size, options.size});
  if (random.coin(options.flip))
    view.mirror();
  return view.plan();
}

resize_plan eval_image_plan(const image_size& image, const image_options& options) {
  constexpr auto stage = "eval_image_plan";
  check_plan(stage, image, options);
  const auto shorter = shorter_side(options);
  require(shorter >= options.size && shorter <= max_extent, stage, "resize", number_text(shorter),
          "size to 8192");
  return central_view(image, shorter, options.size);
}

map_stage int_label(const std::string& field) {
  constexpr auto stage = "int_label@1";
  check_names(field, stage);
  auto text = "field=" + field;
  return {stage, std::move(text), [names = split_names(field)] {
            return [names](sample& to, context&) {
              const auto& name = choose(names, to);
              const auto value = parse_int(text_of(to, name));
              to.erase(name);
              to.set("label", value);
            };
          }};
}

} // namespace leat
