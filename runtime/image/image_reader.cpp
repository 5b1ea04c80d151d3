#include "runtime/image/image_reader.hpp"

#include "runtime/image/image_format.hpp"
#include "runtime/image/jpeg/dct_scale.hpp"
#include "runtime/image/lap.hpp"
#include "runtime/image/plane_plan.hpp"

#include <algorithm>
#include <array>

namespace leat {

namespace {

/// The MCUs that hold what a planned resampler needs of all planes.
mcu_rect mcus_needed(const plane_resampler& of, const jpeg_frame& frame) {
  std::size_t left = ~std::size_t{0};
  std::size_t top = ~std::size_t{0};
  std::size_t right = 0;
  std::size_t bottom = 0;
  for (std::size_t c = 0; c < frame.num_components; ++c) {
    const auto samples = of.needed(c);
    const auto& x = frame.components[c];
    left = std::min(left, samples.x / x.mcu_width());
    top = std::min(top, samples.y / x.mcu_height());
    right = std::max(right, (samples.x + samples.width - 1) / x.mcu_width());
    bottom = std::max(bottom, (samples.y + samples.height - 1) / x.mcu_height());
  }
  return {left, top, right - left + 1, bottom - top + 1};
}

} // namespace

image_reader::image_reader(const ways& allowed)
    : own_scan_decoder_(allowed.own_scan_decoder), planes_(allowed.transform),
      resampler_(allowed.kernels) {}

void image_reader::time(decode_times* to) noexcept {
  times_ = to;
  planes_.time(to);
}

image_size image_reader::open(std::span<const std::byte> file, std::size_t max_pixels,
                              std::span<const scan_place> places) {
  if (times_)
    times_->begin();
  file_ = file;
  max_pixels_ = max_pixels;
  places_ = places;
  if (const auto format = image_format(file); format == "PNG") {
    kind_ = kind::png;
    size_ = whole_.png.open(file, max_pixels);
  } else if (format == "WebP") {
    kind_ = kind::webp;
    size_ = whole_.webp.open(file, max_pixels);
  } else {
    frame_ = planes_.open(file, max_pixels);
    kind_ = has_planes(frame_) ? kind::jpeg_planes : kind::jpeg_rows;
    size_ = frame_.size;
  }
  lap(times_, decode_part::headers);
  return size_;
}

void image_reader::make(const resize_plan& what, const tensor_form& form, std::byte* to) {
  if (times_)
    times_->begin();
  if (kind_ == kind::jpeg_planes)
    return make_jpeg(what, form, to);
  const std::array<plane_form, 3> planes{
      plane_form{.size = size_}, {.size = size_}, {.size = size_}};
  resampler_.plan(what, planes, resample_kernels::colours::rgb);
  make_rows(form, to);
}

const jpeg_frame* image_reader::frame_for(const resize_plan& what) {
  if (kind_ != kind::jpeg_planes)
    return nullptr;
  frame_ = planes_.scale(dct_scale_for(what));
  return &frame_;
}

void image_reader::make_jpeg(const resize_plan& what, const tensor_form& form, std::byte* to) {
  frame_ = planes_.scale(dct_scale_for(what));
  std::array<plane_form, 3> forms;
  for (std::size_t c = 0; c < frame_.num_components; ++c)
    forms[c] = plane_form_of(frame_, c);
  resampler_.plan(what, {forms.data(), frame_.num_components}, colour_of(frame_));
  if (own_scan_decoder_ && planes_.can_go(plane_decoder::way::own)
      && make_planes(plane_decoder::way::own, form, to))
    return;
  // From the beginning: libjpeg judges what the other way found.
  make_planes(plane_decoder::way::libjpeg, form, to);
}

bool image_reader::make_planes(plane_decoder::way by, const tensor_form& form, std::byte* to) {
  const auto part = mcus_needed(resampler_, frame_);
  lap(times_, decode_part::planning);
  if (!planes_.start(by, part, places_))
    return false;
  constexpr std::size_t most_rows = 32; // four rows of blocks
  for (std::size_t c = 0; c < frame_.num_components; ++c)
    resampler_.expect(c, part.x * frame_.components[c].mcu_width(), most_rows);
  resampler_.begin(form, to);
  lap(times_, decode_part::planning);
  plane_strip strip;
  for (bool is_done = false; !is_done;) {
    if (!planes_.next(strip))
      return false;
    for (std::size_t c = 0; c < frame_.num_components; ++c) {
      const auto& rows = strip.planes[c];
      resampler_.load(c, rows.data, rows.stride, rows.first, rows.count);
    }
    lap(times_, decode_part::narrowing);
    is_done = resampler_.flush();
    lap(times_, decode_part::writing);
  }
  return true;
}

/// Gives the part's rows, from the top down, some at a time.
template <class Take>
void image_reader::read_rows(const pixel_rect& part, Take take) {
  if (kind_ == kind::png || kind_ == kind::webp) {
    const auto image = kind_ == kind::png ? whole_.png.decode() : whole_.webp.decode();
    lap(times_, decode_part::decoding);
    return take(rgb_view{image.row(part.y) + 3 * part.x, part.width, part.height, image.stride});
  }
  rows_.open(file_, max_pixels_);
  rows_.start(part);
  for (auto rows = rows_.next_rows(); rows.height > 0; rows = rows_.next_rows()) {
    lap(times_, decode_part::decoding);
    take(rows);
  }
}

void image_reader::make_rows(const tensor_form& form, std::byte* to) {
  const auto part = resampler_.needed(0);
  for (std::size_t c = 0; c < 3; ++c)
    resampler_.expect(c, part.x, jpeg_decoder::strip_rows);
  resampler_.begin(form, to);
  lap(times_, decode_part::planning);
  auto row = part.y;
  read_rows(part, [&](const rgb_view& rows) {
    for (std::size_t y = 0; y < rows.height; y += jpeg_decoder::strip_rows) {
      const auto count = std::min(jpeg_decoder::strip_rows, rows.height - y);
      load_rows({rows.row(y), rows.width, count, rows.stride}, row);
      row += count;
    }
  });
}

void image_reader::load_rows(const rgb_view& rows, std::size_t first_row) {
  const auto stride = rows.width + plane_resampler::slack;
  split_rows_.resize(std::max(split_rows_.size(), 3 * rows.height * stride));
  for (std::size_t c = 0; c < 3; ++c) {
    auto* plane = split_rows_.data() + c * rows.height * stride;
    for (std::size_t y = 0; y < rows.height; ++y)
      for (std::size_t x = 0; x < rows.width; ++x)
        plane[y * stride + x] = rows.row(y)[3 * x + c];
    resampler_.load(c, plane, stride, first_row, rows.height);
  }
  lap(times_, decode_part::narrowing);
  resampler_.flush();
  lap(times_, decode_part::writing);
}

void image_reader::make_exact(const resize_plan& what, const tensor_form& form, std::byte* to) {
  if (times_)
    times_->begin();
  const auto part = reference_.plan(what);
  lap(times_, decode_part::planning);
  read_rows(part, [&](const rgb_view& rows) {
    reference_.load(rows);
    lap(times_, decode_part::narrowing);
  });
  reference_.write(form, to);
  lap(times_, decode_part::writing);
}

} // namespace leat
