#include "runtime/image_reader.hpp"

#include <algorithm>
#include <array>

namespace leat {

namespace {

/// As libjpeg enlarges a component (jdsample.c): smoothly by two, where it has more than two columns;
/// else by repetition.
plane_form form_of(const jpeg_frame& frame, std::size_t component) {
  const auto& x = frame.components[component];
  plane_form form{.across = frame.across / x.across,
                  .down = frame.down / x.down,
                  .size = frame.plane_size(component)};
  const bool by_two_at_most = form.across <= 2 && form.down <= 2;
  const bool is_smooth = by_two_at_most && (form.across == 1 || form.size.width > 2);
  form.smooth_across = is_smooth && form.across == 2;
  form.smooth_down = is_smooth && form.down == 2;
  return form;
}

resample_kernels::colours colour_of(const jpeg_frame& frame) {
  switch (frame.colour) {
  case jpeg_frame::colours::gray:
    return resample_kernels::colours::gray;
  case jpeg_frame::colours::rgb:
    return resample_kernels::colours::rgb;
  default:
    return resample_kernels::colours::ycc;
  }
}

/// The MCUs that hold these samples of all planes.
class mcu_cover {
public:
  void add(const plane_rect& samples, const jpeg_component& x) {
    constexpr auto block = jpeg_frame::block;
    left_ = std::min(left_, samples.x / (block * x.across));
    top_ = std::min(top_, samples.y / (block * x.down));
    right_ = std::max(right_, (samples.x + samples.width - 1) / (block * x.across));
    bottom_ = std::max(bottom_, (samples.y + samples.height - 1) / (block * x.down));
  }
  mcu_rect rect() const { return {left_, top_, right_ - left_ + 1, bottom_ - top_ + 1}; }

private:
  std::size_t left_ = ~std::size_t{0};
  std::size_t top_ = ~std::size_t{0};
  std::size_t right_ = 0;
  std::size_t bottom_ = 0;
};

} // namespace

image_reader::image_reader(const ways& allowed)
    : own_scan_decoder_(allowed.own_scan_decoder), planes_(allowed.transform),
      resampler_(allowed.kernels) {}

image_size image_reader::open(std::span<const std::byte> file, std::size_t max_pixels,
                              std::span<const scan_place> places) {
  file_ = file;
  max_pixels_ = max_pixels;
  places_ = places;
  frame_ = planes_.open(file, max_pixels);
  return frame_.size;
}

/// Whether pixels are sums of products of the planes' samples. Of CMYK they are not.
bool image_reader::has_planes() const noexcept {
  if (frame_.colour == jpeg_frame::colours::other)
    return false;
  for (std::size_t c = 0; c < frame_.num_components; ++c) {
    const auto& x = frame_.components[c];
    if (frame_.across % x.across != 0 || frame_.down % x.down != 0)
      return false;
  }
  return true;
}

void image_reader::make(const resize_plan& what, const tensor_form& form, std::byte* to) {
  if (!has_planes())
    return make_exact(what, form, to);
  std::array<plane_form, 3> forms;
  for (std::size_t c = 0; c < frame_.num_components; ++c)
    forms[c] = form_of(frame_, c);
  resampler_.plan(what, {forms.data(), frame_.num_components}, colour_of(frame_));
  if (own_scan_decoder_ && planes_.can_go(plane_decoder::way::own)
      && make_planes(plane_decoder::way::own, form, to))
    return;
  // From the beginning: libjpeg judges what the other way found.
  make_planes(plane_decoder::way::libjpeg, form, to);
}

bool image_reader::make_planes(plane_decoder::way by, const tensor_form& form, std::byte* to) {
  mcu_cover cover;
  for (std::size_t c = 0; c < frame_.num_components; ++c)
    cover.add(resampler_.needed(c), frame_.components[c]);
  const auto part = cover.rect();
  if (!planes_.start(by, part, places_))
    return false;
  constexpr std::size_t most_rows = 32; // four rows of blocks
  for (std::size_t c = 0; c < frame_.num_components; ++c)
    resampler_.expect(c, part.x * frame_.components[c].across * jpeg_frame::block, most_rows);
  resampler_.begin(form, to);
  plane_strip strip;
  do {
    if (!planes_.next(strip))
      return false;
    for (std::size_t c = 0; c < frame_.num_components; ++c) {
      const auto& rows = strip.planes[c];
      resampler_.load(c, rows.data, rows.stride, rows.first, rows.count);
    }
  } while (!resampler_.flush());
  return true;
}

void image_reader::make_exact(const resize_plan& what, const tensor_form& form, std::byte* to) {
  const auto needed = reference_.plan(what);
  rows_.open(file_, max_pixels_);
  rows_.start(needed);
  for (auto rows = rows_.next_rows(); rows.height > 0; rows = rows_.next_rows())
    reference_.load(rows);
  reference_.write(form, to);
}

} // namespace leat
