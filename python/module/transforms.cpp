#include <leat/functions.hpp>
#include <leat/image.hpp>
#include <leat/transforms.hpp>

#include "python/module/convert/casters.hpp"
#include "python/module/module.hpp"
#include "python/module/stages.hpp"

#include <utility>
#include <variant>

namespace leat::python {

namespace {

using extents = std::variant<std::size_t, std::array<std::size_t, 2>>;

image_extent extent_of(const extents& x) {
  if (const auto* both = std::get_if<std::size_t>(&x))
    return {*both};
  const auto& sides = std::get<std::array<std::size_t, 2>>(x);
  return {sides[0], sides[1]};
}

/// As in torchvision: a number v stands for [max(0, 1 - v), 1 + v], or for [-v, v] for hue.
std::optional<std::array<double, 2>> range_of(const nb::object& x, bool is_hue) {
  if (x.is_none())
    return std::nullopt;
  double v = 0;
  if (nb::try_cast(x, v)) {
    if (v == 0)
      return std::nullopt;
    return is_hue ? std::array{-v, v} : std::array{v > 1 ? 0.0 : 1 - v, 1 + v};
  }
  return nb::cast<std::array<double, 2>>(x);
}

void bind_transform_functions(nb::module_& m) {
  const image_options usual;
  const erasing_options erasing;
  m.def(
      "random_resized_crop",
      [](const extents& size, std::array<double, 2> scale, std::array<double, 2> ratio) {
        return random_resized_crop(extent_of(size), scale, ratio);
      },
      "size"_a, "scale"_a = usual.scale, "ratio"_a = usual.ratio,
      "A random part of the image, resized.");
  m.def(
      "resize",
      [](const extents& size) {
        if (const auto* shorter = std::get_if<std::size_t>(&size))
          return resize(*shorter);
        const auto sides = extent_of(size);
        return resize(sides.height, sides.width);
      },
      "size"_a, "The shorter side becomes `size` pixels; or both sides, (height, width).");
  m.def(
      "center_crop", [](const extents& size) { return center_crop(extent_of(size)); }, "size"_a,
      "The middle; if the image is smaller, with black around it.");
  m.def("random_horizontal_flip", &random_horizontal_flip, "p"_a = 0.5,
        "Mirrors left to right, with probability `p`.");
  m.def(
      "pad",
      [](std::size_t left, std::size_t top, std::size_t right, std::size_t bottom,
         padding_mode mode, std::array<double, 3> fill) {
        return pad({left, top, right, bottom, mode, fill});
      },
      nb::kw_only(), "left"_a = 0, "top"_a = 0, "right"_a = 0, "bottom"_a = 0,
      "mode"_a = padding_mode::constant, "fill"_a = std::array<double, 3>{},
      "Rows and columns to put around an image, in pixels.");
  m.def(
      "color_jitter",
      [](const nb::object& brightness, const nb::object& contrast, const nb::object& saturation,
         const nb::object& hue) {
        return color_jitter(color_jitter_options{range_of(brightness, false),
                                                 range_of(contrast, false),
                                                 range_of(saturation, false), range_of(hue, true)});
      },
      "brightness"_a = nb::none(), "contrast"_a = nb::none(), "saturation"_a = nb::none(),
      "hue"_a = nb::none(),
      nb::sig("def color_jitter(brightness: float | tuple[float, float] | None = None, contrast: "
              "float | tuple[float, float] | None = None, saturation: float | tuple[float, float] "
              "| None = None, hue: float | tuple[float, float] | None = None) -> ImageTransform"),
      "Strengths as in torchvision, or [lowest, highest] factors.");
  m.def("normalize", &leat::normalize, "mean"_a = std::array<double, 3>{0.485, 0.456, 0.406},
        "std"_a = std::array<double, 3>{0.229, 0.224, 0.225},
        "(value / 255 - mean) / std for each channel.");
  m.def(
      "random_erasing",
      [](double p, std::array<double, 2> scale, std::array<double, 2> ratio,
         std::array<double, 3> value, bool noise) {
        return random_erasing({p, scale, ratio, value, noise});
      },
      nb::kw_only(), "p"_a = erasing.p, "scale"_a = erasing.scale, "ratio"_a = erasing.ratio,
      "value"_a = erasing.value, "noise"_a = erasing.noise,
      "Erases a random rectangle of the finished tensor.");
  m.def("to_dtype", &to_dtype, "dtype"_a, "u8: 0 to 255; floats: 0 to 1, or normalized.");
  m.def("to_layout", &to_layout, "layout"_a, "Planes R, G, B, or R, G, B of each pixel in turns.");
}

void bind_image_maps(nb::module_& m) {
  const image_options usual;
  m.def(
      "decode_image",
      [](const std::string& field, const std::vector<image_transform>& transforms, bool exact,
         std::size_t max_pixels) {
        return map_value{decode_image(field, transforms, {exact, max_pixels})};
      },
      "field"_a, "transforms"_a = std::vector<image_transform>{}, nb::kw_only(), "exact"_a = false,
      "max_pixels"_a = usual.max_pixels,
      "Decodes the JPEG, PNG or WebP in `field`, applies the transforms, and sets the field "
      "\"image\".");
}

} // namespace

void bind_transforms(nb::module_& m) {
  nb::class_<image_transform>(m, "ImageTransform", "One step from a decoded image to a tensor.")
      .def_ro("name", &image_transform::name, "As texts have it: \"center_crop\".")
      .def_ro("arguments", &image_transform::arguments, "Its arguments, as texts have them.")
      .def(nb::self == nb::self, nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__repr__", [](const image_transform& x) {
        std::string text = x.name + "(";
        for (std::size_t i = 0; i < x.arguments.size(); ++i)
          text += (i > 0 ? ", " : "") + x.arguments[i];
        return text + ")";
      });
  bind_transform_functions(m);
  bind_image_maps(m);
}

} // namespace leat::python
