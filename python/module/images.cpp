#include "runtime/base/error_in_flight.hpp"

#include <leat/bare_loop.hpp>
#include <leat/image_decoder.hpp>

#include "python/module/convert/arrays.hpp"
#include "python/module/convert/casters.hpp"
#include "python/module/module.hpp"
#include "python/module/stages.hpp"
#include "python/module/without_gil.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace leat::python {

namespace {

using sides = std::array<std::size_t, 2>;
using rectangle = std::array<std::size_t, 4>;

/// A decoder with the bytes that it borrows.
struct decoder {
  explicit decoder(const image_decoder_options& options) : of(options) {}

  image_decoder of;
  nb::object file = {};
  std::optional<image_size> size = {};
};

std::span<const std::byte> bytes_of(const nb::bytes& x) {
  return {reinterpret_cast<const std::byte*>(x.c_str()), x.size()};
}

pixel_rect rect_of(const rectangle& x) {
  return {x[0], x[1], x[2], x[3]};
}

std::pair<std::size_t, std::size_t> open(decoder& x, const nb::bytes& file, const nb::bytes& rows) {
  x.size.reset();
  x.file = file;
  x.size = x.of.open(bytes_of(file), bytes_of(rows));
  return {x.size->height, x.size->width};
}

resize_plan plan_of(const decoder& x, const std::optional<rectangle>& source,
                    const std::optional<sides>& resized, const std::optional<rectangle>& window,
                    bool mirrored) {
  if (!x.size)
    refuse_argument("ImageDecoder", "no image", "open() before");
  resize_plan plan;
  plan.source = source ? rect_of(*source) : pixel_rect{0, 0, x.size->width, x.size->height};
  plan.resized = resized ? image_size{(*resized)[0], (*resized)[1]}
                         : image_size{plan.source.width, plan.source.height};
  plan.window =
      window ? rect_of(*window) : pixel_rect{0, 0, plan.resized.width, plan.resized.height};
  plan.mirrored = mirrored;
  return plan;
}

nb::object make(decoder& x, const std::optional<rectangle>& source,
                const std::optional<sides>& resized, const std::optional<rectangle>& window,
                bool mirrored, dtype type, image_layout layout, std::array<float, 3> mean,
                std::array<float, 3> std) {
  const auto plan = plan_of(x, source, resized, window, mirrored);
  const auto height = static_cast<std::int64_t>(plan.window.height);
  const auto width = static_cast<std::int64_t>(plan.window.width);
  auto memory = std::make_unique<std::vector<std::byte>>(3 * plan.window.height * plan.window.width
                                                         * size_of(type));
  {
    const nb::gil_scoped_release released;
    x.of.make(plan, {type, layout, mean, std}, *memory);
  }
  const auto dims = layout == image_layout::nchw ? std::array<std::int64_t, 3>{3, height, width}
                                                 : std::array<std::int64_t, 3>{height, width, 3};
  const auto* pixels = memory->data();
  const nb::capsule owner{
      memory.release(), [](void* at) noexcept { delete static_cast<std::vector<std::byte>*>(at); }};
  return as_numpy({pixels, type, dims, owner});
}

/// A bare loop with the functions that its rows call.
struct measured {
  bare_loop of;
  kept_objects kept;
};

void bind_bare_loop(nb::module_& m) {
  nb::class_<measured>(m, "BareLoop", nb::type_slots(garbage_slots<measured>),
                       "The rows of a pipeline without a loader: what this machine can do at best.")
      .def(
          "__init__",
          [](measured* to, const pipeline_value& job, std::size_t threads) {
            auto made = without_gil([&] { return bare_loop{job.value, threads}; });
            new (to) measured{std::move(made), job.kept};
          },
          "job"_a, "threads"_a = 1, "`threads`: in how many the rows are made.")
      .def_prop_ro(
          "batch_rows", [](const measured& x) { return x.of.batch_rows(); },
          "Rows of a batch, over all ranks.")
      .def_prop_ro(
          "epoch_rows", [](const measured& x) { return x.of.epoch_rows(); },
          "Rows of an epoch's batches.")
      .def(
          "run",
          [](const measured& x, std::uint64_t rows) {
            const nb::gil_scoped_release released;
            return std::chrono::duration<double>(x.of.run(rows)).count();
          },
          "rows"_a, "Makes this many rows, epoch after epoch; how long it took, in seconds.");
}

} // namespace

void bind_images(nb::module_& m) {
  const image_decoder_options usual;
  nb::class_<decoder>(
      m, "ImageDecoder",
      "Makes arrays of parts of JPEGs, PNGs and WebPs, as decode_image does. It keeps its "
      "memory from image to image; for one thread at a time.")
      .def(
          "__init__",
          [](decoder* to, bool exact, std::size_t max_pixels, bool own_decoder) {
            new (to) decoder(image_decoder_options{exact, max_pixels, own_decoder});
          },
          nb::kw_only(), "exact"_a = usual.exact, "max_pixels"_a = usual.max_pixels,
          "own_decoder"_a = usual.own_decoder,
          "`exact`: a full decode, and a resize in double precision, rounded once; slower. "
          "`max_pixels`: a larger image is a bad sample. `own_decoder`: False leaves all JPEGs to "
          "libjpeg-turbo, which makes the same pixels, slower.")
      .def("open", &open, "file"_a, "rows"_a = nb::bytes(""),
           nb::sig("def open(self, file: bytes, rows: bytes = b'') -> tuple[int, int]"),
           "Takes a file; (height, width) of its image. `rows`: what find_jpeg_rows says of it. "
           "Raises BadSample.")
      .def("make", &make, nb::kw_only(), "source"_a = nb::none(), "resized"_a = nb::none(),
           "window"_a = nb::none(), "mirrored"_a = false, "dtype"_a = "u8",
           "layout"_a = image_layout::nhwc, "mean"_a = std::array<float, 3>{},
           "std"_a = std::array<float, 3>{1, 1, 1},
           nb::sig("def make(self, *, source: tuple[int, int, int, int] | None = None, resized: "
                   "tuple[int, int] | None = None, window: tuple[int, int, int, int] | None = "
                   "None, mirrored: bool = False, dtype: typing.Any = 'u8', layout: "
                   "typing.Literal['nchw', 'nhwc'] = 'nhwc', mean: tuple[float, float, float] = "
                   "(0.0, 0.0, 0.0), std: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> "
                   "numpy.ndarray"),
           "Pixels of the opened image: `source` (x, y, width, height), a part of it, becomes "
           "`resized` (width, height), of which `window` (x, y, width, height) is wanted; by "
           "default all of it. u8 as decoded; floats are (value / 255 - mean) / std. Raises "
           "BadSample.")
      .def_prop_ro(
          "used_own_decoder", [](const decoder& x) { return x.of.used_own_decoder(); },
          "Whether leat's own JPEG decoder made the last pixels.")
      .def_prop_ro(
          "knows_rows", [](const decoder& x) { return x.of.knows_rows(); },
          "Whether it is known where the opened image's rows begin.");
  m.def(
      "find_jpeg_rows",
      [](const nb::bytes& file) {
        const auto rows = leat::find_jpeg_rows(bytes_of(file));
        return nb::bytes(reinterpret_cast<const char*>(rows.data()), rows.size());
      },
      "file"_a, "Where the rows of a JPEG begin, for ImageDecoder.open; empty for other files.");
  bind_bare_loop(m);
}

} // namespace leat::python
