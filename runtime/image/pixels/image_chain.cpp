#include "runtime/image/pixels/image_chain.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/map_parameters.hpp"
#include "runtime/base/number_as.hpp"

#include <leat/tensor.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <utility>

namespace leat {

namespace {

constexpr std::size_t max_extent = 8192;
constexpr double max_ratio = 1000;
constexpr double any = 1e30;

/// Reads the arguments of one transform, in their order.
class argument_reader {
public:
  argument_reader(const image_transform& from, const std::string& stage)
      : from_(from), stage_(stage) {}

  const std::string& word() {
    if (next_ == from_.arguments.size())
      refuse("with " + std::to_string(next_) + " arguments", "more of them");
    return from_.arguments[next_++];
  }

  double number(double lowest, double highest) {
    return read(lowest, highest,
                "a number from " + number_text(lowest) + " to " + number_text(highest));
  }

  std::size_t extent(std::size_t lowest = 1) {
    return read(lowest, max_extent,
                std::to_string(lowest) + " to " + std::to_string(max_extent) + " pixels");
  }

  image_size size() {
    const auto height = extent();
    return {.width = extent(), .height = height};
  }

  /// Lowest and highest, above zero or not.
  std::array<double, 2> range(double lowest, double highest, bool may_be_lowest = true) {
    const std::array<double, 2> x{number(lowest, highest), number(lowest, highest)};
    if (x[0] > x[1] || (!may_be_lowest && x[0] == lowest))
      refuse(number_text(x[0]) + "," + number_text(x[1]),
             number_text(lowest) + (may_be_lowest ? " <= " : " < ")
                 + "lowest <= highest <= " + number_text(highest));
    return x;
  }

  std::array<float, 3> channels(double lowest, double highest) {
    std::array<float, 3> x{};
    for (auto& value : x)
      value = static_cast<float>(number(lowest, highest));
    return x;
  }

  /// Takes the next argument if it is this word.
  bool next_is(std::string_view expected) {
    const bool found = has_more() && from_.arguments[next_] == expected;
    next_ += found ? 1 : 0;
    return found;
  }

  bool has_more() const noexcept { return next_ < from_.arguments.size(); }

  void done() const {
    if (has_more())
      refuse("with " + std::to_string(from_.arguments.size()) + " arguments",
             "at most " + std::to_string(next_));
  }

  [[noreturn]] void refuse(const std::string& got, const std::string& needed) const {
    refuse_argument(stage_, from_.name + " " + got, needed);
  }

private:
  template <class Number>
  Number read(Number lowest, Number highest, const std::string& needed) {
    const auto& text = word();
    Number x{};
    const auto* end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, x);
    if (failure != std::errc{} || stop != end || !(x >= lowest && x <= highest))
      refuse(text, needed);
    return x;
  }

  const image_transform& from_;
  const std::string& stage_;
  std::size_t next_ = 0;
};

image_step read_random_resized_crop(argument_reader& from) {
  random_resized_crop_step x{from.size(), {}};
  x.ranges.scale = from.range(0, 1, false);
  x.ranges.ratio = from.range(0, max_ratio, false);
  return x;
}

image_step read_resize(argument_reader& from) {
  const auto first = from.extent();
  if (!from.has_more())
    return resize_step{first, {}};
  return resize_step{0, {.width = from.extent(), .height = first}};
}

image_step read_pad(argument_reader& from) {
  padding x{.left = from.extent(0),
            .top = from.extent(0),
            .right = from.extent(0),
            .bottom = from.extent(0)};
  static const std::map<std::string, pad_mode> modes{{"constant", pad_mode::constant},
                                                     {"edge", pad_mode::edge},
                                                     {"reflect", pad_mode::reflect},
                                                     {"symmetric", pad_mode::symmetric}};
  const auto& mode = from.word();
  const auto found = modes.find(mode);
  if (found == modes.end())
    from.refuse(mode, "constant, edge, reflect or symmetric");
  x.mode = found->second;
  x.fill = from.channels(0, 255);
  for (auto& value : x.fill)
    value /= 255;
  return x;
}

image_step read_color_jitter(argument_reader& from) {
  color_jitter_ranges x;
  x.brightness = from.range(0, max_ratio);
  x.contrast = from.range(0, max_ratio);
  x.saturation = from.range(0, max_ratio);
  x.hue = from.range(-0.5, 0.5);
  return x;
}

erasing_step read_random_erasing(argument_reader& from) {
  erasing_step x{};
  x.ranges.probability = from.number(0, 1);
  x.ranges.scale = from.range(0, 1);
  x.ranges.ratio = from.range(0, max_ratio, false);
  x.noise = from.next_is("noise");
  if (!x.noise)
    x.values = from.channels(-any, any);
  return x;
}

/// What has been read so far, and what may still come.
class chain_reader {
public:
  explicit chain_reader(const std::string& stage) : stage_(stage) {}

  void add(const image_transform& x) {
    argument_reader from{x, stage_};
    if (const auto step = pixel_steps().find(x.name); step != pixel_steps().end()) {
      if (normalized_ || chain_.erasing)
        from.refuse("after normalize or random_erasing", "it before them");
      chain_.steps.push_back(step->second(from));
    } else if (x.name == "normalize") {
      if (normalized_ || chain_.erasing)
        from.refuse("after normalize or random_erasing", "it once, before random_erasing");
      normalized_ = true;
      chain_.form.mean = from.channels(-any, any);
      chain_.form.std = from.channels(1e-30, any);
    } else if (x.name == "random_erasing") {
      if (chain_.erasing)
        from.refuse("twice", "it once");
      chain_.erasing = read_random_erasing(from);
    } else if (x.name == "to_dtype") {
      has_type_ = true;
      type_ = parse_dtype(from.word(), stage_);
      if (type_ != dtype::u8 && type_ != dtype::f32 && type_ != dtype::f16 && type_ != dtype::bf16)
        from.refuse(std::string{to_string(type_)}, "u8, f32, f16 or bf16");
    } else if (x.name == "to_layout") {
      const auto& layout = from.word();
      if (layout != "nchw" && layout != "nhwc")
        from.refuse(layout, "nchw or nhwc");
      chain_.form.layout = layout == "nchw" ? image_layout::nchw : image_layout::nhwc;
    } else {
      from.refuse("as a transform", "one of docs/transforms.md");
    }
    from.done();
  }

  image_chain finish() {
    if (!has_type_)
      type_ = normalized_ ? dtype::f32 : dtype::u8;
    chain_.form.type = type_;
    if (chain_.form.type == dtype::u8 && normalized_)
      refuse_argument(stage_, "normalize with to_dtype u8", "a float type");
    if (chain_.form.type == dtype::u8 && chain_.erasing && chain_.erasing->noise)
      refuse_argument(stage_, "random_erasing with noise for u8", "a float type");
    if (chain_.erasing && !chain_.erasing->noise)
      for (const auto x : chain_.erasing->values)
        check_element(x);
    return std::move(chain_);
  }

private:
  /// A value that fills an erased rectangle.
  void check_element(float x) const {
    constexpr float largest_f16 = 65504;
    if (type_ == dtype::u8 && !number_as<std::uint8_t>(x))
      refuse_argument(stage_, "random_erasing " + number_text(x) + " for u8",
                      "whole numbers from 0 to 255");
    if (type_ == dtype::f16 && std::abs(x) > largest_f16)
      refuse_argument(stage_, "random_erasing " + number_text(x) + " for f16",
                      "at most " + number_text(largest_f16));
  }

  using read_step = image_step (*)(argument_reader&);
  static const std::map<std::string, read_step>& pixel_steps() {
    static const std::map<std::string, read_step> steps{
        {"random_resized_crop", read_random_resized_crop},
        {"resize", read_resize},
        {"center_crop",
         [](argument_reader& from) { return image_step{center_crop_step{from.size()}}; }},
        {"random_horizontal_flip",
         [](argument_reader& from) { return image_step{flip_step{from.number(0, 1)}}; }},
        {"pad", read_pad},
        {"color_jitter", read_color_jitter}};
    return steps;
  }

  const std::string& stage_;
  image_chain chain_;
  bool has_type_ = false;
  dtype type_ = dtype::u8;
  bool normalized_ = false;
};

} // namespace

image_chain read_transforms(const std::vector<image_transform>& transforms,
                            const std::string& stage) {
  chain_reader reader{stage};
  for (const auto& x : transforms)
    reader.add(x);
  return reader.finish();
}

std::string to_text(const std::vector<image_transform>& transforms) {
  std::string text;
  for (const auto& x : transforms) {
    text += (text.empty() ? "" : ",") + x.name;
    for (const auto& argument : x.arguments)
      text += ":" + argument;
  }
  return text;
}

std::vector<image_transform> parse_transforms(std::string_view text) {
  std::vector<image_transform> result;
  for (std::string_view rest : split_list(text)) {
    auto& x = result.emplace_back();
    for (bool is_name = true;; is_name = false) {
      const auto end = std::min(rest.find(':'), rest.size());
      const std::string word{rest.substr(0, end)};
      if (is_name)
        x.name = word;
      else
        x.arguments.push_back(word);
      if (end == rest.size())
        break;
      rest.remove_prefix(end + 1);
    }
  }
  return result;
}

} // namespace leat
