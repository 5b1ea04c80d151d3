#include "runtime/image/image_reader.hpp"
#include "runtime/image/jpeg/row_places.hpp"
#include "runtime/sample/source_access.hpp"

#include <leat/bad_sample.hpp>
#include <leat/error.hpp>
#include <leat/image_decoder.hpp>

#include <string>

namespace leat {

namespace {

/// Above what any image becomes whose shorter side is resized to 8192 pixels.
constexpr std::size_t largest_side = std::size_t{1} << 30;

std::string pixels_text(const image_size& x) {
  return std::to_string(x.width) + " x " + std::to_string(x.height) + " pixels";
}

std::string pixels_text(const pixel_rect& x) {
  return pixels_text(image_size{x.width, x.height}) + " from column " + std::to_string(x.x)
         + ", row " + std::to_string(x.y);
}

void require_that(bool good, const std::string& got, const std::string& needed) {
  if (!good)
    throw error(errc::invalid_argument, {.stage = "image_decoder", .got = got, .needed = needed});
}

void check_part(const char* what, const pixel_rect& part, const image_size& of) {
  const bool is_inside = part.x < of.width && part.y < of.height && part.width >= 1
                         && part.height >= 1 && part.width <= of.width - part.x
                         && part.height <= of.height - part.y;
  require_that(is_inside, what + (" of " + pixels_text(part)), "a part of " + pixels_text(of));
}

void check(const resize_plan& what, const image_size& image) {
  check_part("source", what.source, image);
  const auto& to = what.resized;
  const bool is_sized =
      to.width >= 1 && to.height >= 1 && to.width <= largest_side && to.height <= largest_side;
  require_that(is_sized, "resized to " + pixels_text(to),
               "1 to " + std::to_string(largest_side) + " pixels per side");
  check_part("window", what.window, to);
}

bool is_made(dtype x) {
  return x == dtype::u8 || x == dtype::f32 || x == dtype::f16 || x == dtype::bf16;
}

void check(const tensor_form& form, const pixel_rect& window, std::size_t bytes) {
  require_that(is_made(form.type), "element type " + std::string{to_string(form.type)},
               "u8, f32, f16 or bf16");
  const auto needed = 3 * window.width * window.height * size_of(form.type);
  require_that(bytes == needed, std::to_string(bytes) + " bytes of memory",
               std::to_string(needed) + " for a window of " + pixels_text(window));
}

} // namespace

struct image_decoder::state {
  explicit state(const image_decoder_options& options_)
      : options(options_), reader({.own_scan_decoder = options_.own_decoder}) {}

  image_size open() {
    is_open = false;
    size = reader.open(file, options.max_pixels, places);
    is_open = is_fresh = true;
    return size;
  }

  const image_decoder_options options;
  image_reader reader;
  std::span<const std::byte> file = {};
  std::vector<scan_place> places = {};
  image_size size = {};
  bool is_open = false;
  /// Whether no pixels have been made since it was opened.
  bool is_fresh = false;
  decode_times* times = nullptr;
};

image_decoder::image_decoder(const image_decoder_options& options)
    : state_(std::make_unique<state>(options)) {}

image_decoder::~image_decoder() = default;

image_size image_decoder::open(const sample& x, std::string_view field) {
  return open(x.bytes(field), source_access::places(x, field));
}

image_size image_decoder::open(std::span<const std::byte> file, std::span<const std::byte> rows) {
  auto& x = *state_;
  x.file = file;
  read_row_places(rows, file, x.places);
  return x.open();
}

bool image_decoder::knows_rows() const noexcept {
  return !state_->places.empty();
}

void image_decoder::make(const resize_plan& what, const tensor_form& form,
                         std::span<std::byte> to) {
  auto& x = *state_;
  require_that(x.is_open, "no image", "an image that was opened");
  check(what, x.size);
  check(form, what.window, to.size());
  if (!x.is_fresh)
    x.open();
  x.is_fresh = false;
  if (x.options.exact)
    x.reader.make_exact(what, form, to.data());
  else
    x.reader.make(what, form, to.data());
  if (x.times)
    x.times->end_image();
}

bool image_decoder::used_own_decoder() const noexcept {
  const auto& x = *state_;
  return x.is_open && !x.is_fresh && !x.options.exact && x.reader.went_own_way();
}

void image_decoder::time(decode_times* to) noexcept {
  state_->times = to;
  state_->reader.time(to);
}

std::vector<std::byte> find_jpeg_rows(std::span<const std::byte> file) try {
  constexpr auto max_pixels = image_decoder_options{}.max_pixels;
  if (file.size() > 4 * max_pixels)
    return {}; // beyond the numbers of a place
  plane_decoder planes;
  planes.open(file, max_pixels);
  const auto places = planes.survey();
  return places.empty() ? std::vector<std::byte>{} : write_row_places(file, places);
} catch (const bad_sample&) {
  return {}; // whoever decodes it will hear of it
}

} // namespace leat
