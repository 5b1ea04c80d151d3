#include "runtime/image/image_maker.hpp"

#include "runtime/image/pixels/element.hpp"

#include <leat/bad_sample.hpp>

#include <string>
#include <utility>

namespace leat {

namespace {

/// Floats from 0 to 1, in planes: what steps work on.
constexpr tensor_form float_planes{};

std::size_t element_at(const tensor_form& form, const image_size& size, std::size_t x,
                       std::size_t y, std::size_t c) {
  return form.layout == image_layout::nchw ? (c * size.height + y) * size.width + x
                                           : (y * size.width + x) * 3 + c;
}

std::string text_of(const image_size& x) {
  return std::to_string(x.width) + " x " + std::to_string(x.height) + " pixels";
}

/// A resize may make a huge image of a small one.
void check_size(const image_size& x, std::size_t most_pixels) {
  if (x.width * x.height > most_pixels)
    throw bad_sample(cause::too_large,
                     "image: " + text_of(x) + ", limit " + std::to_string(most_pixels));
}

/// The part that is erased, if any.
std::optional<pixel_rect> draw_part(const image_chain& chain, const image_size& size, rng& random) {
  if (!chain.erasing)
    return std::nullopt;
  return draw_erased(size, chain.erasing->ranges, random);
}

} // namespace

void image_maker::make(std::span<const std::byte> file, std::span<const scan_place> places,
                       rng& random, const make_tensor& tensor, const make_later& later) {
  view_ = image_view{reader_.open(file, options_.max_pixels, places)};
  is_read_ = false;
  auto steps = std::span{chain_.steps};
  std::optional<color_jitter_factors> jitter;
  const auto* last = steps.empty() ? nullptr : std::get_if<color_jitter_ranges>(&steps.back());
  if (later && last) // which may be done later, too
    steps = steps.first(steps.size() - 1);
  for (const auto& step : steps)
    std::visit([&](const auto& x) { apply(x, random); }, step);
  if (later && last)
    jitter = draw_color_jitter(*last, random);
  check_size(view_.size(), options_.max_pixels);
  const auto [width, height] = view_.size();
  auto* to = tensor(chain_.form.layout == image_layout::nchw ? shape{3, height, width}
                                                             : shape{height, width, 3});
  if (leave(file, places, jitter, random, later))
    return;
  if (jitter)
    adjust(*jitter);
  if (is_read_)
    write(to);
  else
    read(chain_.form, to);
  if (const auto part = draw_part(chain_, view_.size(), random))
    erase(*part, view_.size(), to, &random);
}

bool image_maker::leave(std::span<const std::byte> file, std::span<const scan_place> places,
                        const std::optional<color_jitter_factors>& jitter, rng& random,
                        const make_later& later) {
  if (!later)
    return false;
  late_image x{.maker = this,
               .file = file,
               .places = places,
               .plan = view_.plan(),
               .form = chain_.form,
               .jitter = jitter};
  if (options_.exact)
    x.why = cpu_reason::exact;
  else if (is_read_)
    x.why = cpu_reason::steps;
  else if (chain_.erasing && chain_.erasing->noise)
    x.why = cpu_reason::noise;
  if (!x.why && !(x.frame = reader_.frame_for(x.plan)))
    x.why = reader_.is_jpeg() ? cpu_reason::components : cpu_reason::format;
  auto ahead = random; // whoever makes it at once draws the same
  if (const auto part = x.why ? std::nullopt : draw_part(chain_, x.size(), ahead))
    x.erased = {*part, chain_.erasing->values};
  return later(x);
}

void image_maker::make_now(const late_image& x, std::byte* to) {
  reader_.open(x.file, options_.max_pixels, x.places);
  if (x.jitter) {
    replace(x.size(), [&](const float_image& pixels) {
      reader_.make(x.plan, float_planes, reinterpret_cast<std::byte*>(pixels.data));
    });
    adjust(*x.jitter);
    write(to);
  } else {
    reader_.make(x.plan, x.form, to);
  }
  if (x.erased)
    erase(x.erased->part, x.size(), to, nullptr);
}

// -- steps

void image_maker::apply(const random_resized_crop_step& x, rng& random) {
  make_resizable();
  view_.crop(random_crop(view_.size(), x.ranges, random));
  view_.resize(x.size);
}

void image_maker::apply(const resize_step& x, rng&) {
  make_resizable();
  view_.resize(x.shorter == 0 ? x.size : resized_to_shorter(view_.size(), x.shorter));
}

void image_maker::apply(const center_crop_step& x, rng& random) {
  const auto have = view_.size();
  if (have.width < x.size.width || have.height < x.size.height)
    apply(padding_to(have, x.size), random);
  view_.crop(central_part(view_.size(), x.size));
}

void image_maker::apply(const flip_step& x, rng& random) {
  if (random.coin(x.probability))
    view_.mirror();
}

void image_maker::apply(const padding& x, rng&) {
  realize();
  if (!can_pad(size_, x))
    throw bad_sample(cause::wrong_shape, "pad: " + text_of(size_) + " cannot be mirrored that far");
  replace(padded_size(size_, x), [&](const float_image& to) { pad_image(floats(), x, to); });
}

void image_maker::apply(const color_jitter_ranges& x, rng& random) {
  adjust(draw_color_jitter(x, random));
}

void image_maker::adjust(const color_jitter_factors& by) {
  realize();
  adjust_color(floats(), by);
}

// -- pixels in between

float_image image_maker::floats() noexcept {
  return {pixels_.data(), size_.width, size_.height};
}

void image_maker::read(const tensor_form& form, std::byte* to) {
  if (options_.exact)
    reader_.make_exact(view_.plan(), form, to);
  else
    reader_.make(view_.plan(), form, to);
}

void image_maker::replace(const image_size& size,
                          const std::function<void(const float_image&)>& fill) {
  next_pixels_.resize(size.width * size.height * 3);
  fill({next_pixels_.data(), size.width, size.height});
  std::swap(pixels_, next_pixels_);
  size_ = size;
  is_read_ = true;
  view_ = image_view{size};
}

void image_maker::realize() {
  if (is_read_ && view_.is_untouched())
    return;
  check_size(view_.size(), options_.max_pixels);
  const bool was_read = is_read_;
  replace(view_.size(), [&](const float_image& to) {
    if (was_read)
      resampler_.resize(floats(), view_.plan(), to);
    else
      read(float_planes, reinterpret_cast<std::byte*>(to.data));
  });
}

void image_maker::make_resizable() {
  if (!view_.can_resize())
    realize();
}

void image_maker::write(std::byte* to) {
  realize();
  const auto image = floats();
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t y = 0; y < image.height; ++y)
      for (std::size_t x = 0; x < image.width; ++x)
        put_element(chain_.form, 255.0 * static_cast<double>(image.plane(c)[y * image.width + x]),
                    c, element_at(chain_.form, size_, x, y, c), to);
}

void image_maker::erase(const pixel_rect& part, const image_size& of, std::byte* to,
                        rng* noise) const {
  for (std::size_t c = 0; c < 3; ++c)
    for (auto y = part.y; y < part.y + part.height; ++y)
      for (auto x = part.x; x < part.x + part.width; ++x)
        put_float(chain_.form.type,
                  chain_.erasing->noise ? static_cast<float>(noise->normal())
                                        : chain_.erasing->values[c],
                  element_at(chain_.form, of, x, y, c), to);
}

} // namespace leat
