#include "runtime/image/jpeg/plane_decoder.hpp"

#include "runtime/image/jpeg/dct_scale.hpp"
#include "runtime/image/jpeg/open_jpeg.hpp"
#include "runtime/image/lap.hpp"

#include <algorithm>

namespace leat {

plane_decoder::plane_decoder(const inverse_dct& transform)
    : transform_(transform), scan_(transform.group),
      coefficients_(scan_decoder::max_blocks * transform.group.size()) {}

const jpeg_frame& plane_decoder::open(std::span<const std::byte> file, std::size_t max_pixels) {
  open_jpeg(session_, file, max_pixels);
  frame_ = session_.frame();
  return frame_;
}

const jpeg_frame& plane_decoder::scale(std::size_t eighths) {
  return frame_ = scaled(frame_, eighths);
}

bool plane_decoder::can_go(way x) const noexcept {
  return x == way::libjpeg || scan_decoder::understands(frame_);
}

bool plane_decoder::start(way by, const mcu_rect& part, std::span<const scan_place> places) {
  way_ = by;
  part_ = part;
  extra_columns_ = 0;
  if (by == way::own)
    return start_own(places);
  start_libjpeg();
  return true;
}

bool plane_decoder::next(plane_strip& to) {
  if (way_ == way::own)
    return next_own(to);
  next_libjpeg(to);
  return true;
}

void plane_decoder::reserve(std::size_t c, std::size_t columns, std::size_t rows) {
  auto& plane = planes_[c];
  plane.stride = round_up(columns + plane_strip::slack, 64);
  const auto bytes = plane.stride * rows;
  if (plane.samples.size() < bytes)
    plane.samples.resize(bytes + bytes / 4);
  plane.rows.resize(rows);
  for (std::size_t y = 0; y < rows; ++y)
    plane.rows[y] = plane.samples.data() + y * plane.stride;
}

// -- leat's own way

bool plane_decoder::start_own(std::span<const scan_place> places) {
  if (!scan_.open(frame_))
    return false;
  lap(times_, decode_part::huffman_tables);
  const bool fits = places.size() == frame_.mcus_down() * scan_decoder::places_a_row(frame_);
  places_ = fits ? places : std::span<const scan_place>{};
  next_row_ = part_.y;
  const auto mcus = round_up(part_.width, transform_.group.blocks);
  for (std::size_t c = 0; c < frame_.num_components; ++c) {
    const auto& x = frame_.components[c];
    reserve(c, mcus * x.mcu_width(), x.mcu_height());
  }
  lap(times_, decode_part::planning);
  if (!places_.empty())
    return true;
  scan_.rewind();
  lap(times_, decode_part::unstuffing);
  const bool good = scan_.skim(part_.y * frame_.mcus_across());
  lap(times_, decode_part::skimming);
  return good;
}

bool plane_decoder::next_own(plane_strip& to) {
  const auto blocks = transform_.group.blocks;
  if (places_.empty() ? !scan_.skim(part_.x)
                      : !scan_.seek(places_, next_row_, part_.x, part_.x + part_.width))
    return false;
  lap(times_, decode_part::skimming);
  for (std::size_t mcu = 0; mcu < part_.width; mcu += blocks) {
    if (!scan_.decode(std::min(blocks, part_.width - mcu), coefficients_.data())) {
      // What is left there must not stay for the next image.
      std::fill(coefficients_.begin(), coefficients_.end(), std::int16_t{0});
      return false;
    }
    lap(times_, decode_part::decoding);
    if (!transform_groups(mcu))
      return false;
    lap(times_, decode_part::transforming);
  }
  for (std::size_t c = 0; c < frame_.num_components; ++c) {
    const auto rows = frame_.components[c].mcu_height();
    to.planes[c] = {planes_[c].samples.data(), planes_[c].stride, next_row_ * rows, rows};
  }
  ++next_row_;
  if (!places_.empty())
    return true;
  const bool good = scan_.skim(mcus_behind());
  lap(times_, decode_part::skimming);
  return good;
}

// Damage counts to the end of the part's last row, or of those that libjpeg decodes with it, and
// below nothing is looked at.
std::size_t plane_decoder::mcus_behind() const noexcept {
  const auto across = frame_.mcus_across();
  const auto right = across - part_.x - part_.width;
  if (next_row_ < part_.y + part_.height)
    return right;
  const auto end = std::min(round_up(next_row_, frame_.rows_at_once), frame_.mcus_down());
  return right + (end - next_row_) * across;
}

bool plane_decoder::transform_groups(std::size_t first_mcu) {
  const auto& group = transform_.group;
  bool good = true;
  for (std::size_t c = 0; c < frame_.num_components; ++c) {
    const auto& x = frame_.components[c];
    const auto transform = transform_.to(x.samples);
    auto* from = coefficients_.data() + scan_.first_group(c) * group.size();
    for (std::size_t v = 0; v < x.down; ++v) {
      auto* to = planes_[c].rows[v * x.samples] + first_mcu * x.mcu_width();
      for (std::size_t h = 0; h < x.across; ++h, from += group.size())
        good = transform(from, x.quantisation, to + h * group.blocks * x.samples, planes_[c].stride)
               && good;
    }
  }
  return good;
}

std::vector<scan_place> plane_decoder::survey(std::vector<work_place>* by_work) {
  std::vector<scan_place> places;
  if (can_go(way::own) && scan_.open(frame_) && scan_.survey(places, by_work))
    return places;
  if (by_work)
    by_work->clear();
  return {};
}

// -- libjpeg's way

void plane_decoder::start_libjpeg() {
  jpeg_session::columns mcus{static_cast<unsigned>(part_.x), static_cast<unsigned>(part_.width)};
  if (!session_.start_planes(mcus, frame_.samples))
    throw_bad_jpeg(session_);
  extra_columns_ = part_.x - mcus.begin;
  next_row_ = 0;
  const auto down = session_.rows_at_once();
  for (std::size_t c = 0; c < frame_.num_components; ++c) {
    const auto& x = frame_.components[c];
    reserve(c, mcus.count * x.mcu_width(), down * x.mcu_height() / frame_.mcu_height());
  }
  // Read calls give `down` rows of pixels, which are several MCU rows of some grayscale files.
  for (const auto above = part_.y * frame_.mcu_height() / down; next_row_ < above; ++next_row_)
    if (!session_.skip_mcu_row())
      throw_bad_jpeg(session_);
  lap(times_, decode_part::skimming);
}

void plane_decoder::next_libjpeg(plane_strip& to) {
  std::array<std::uint8_t**, 4> rows{};
  for (std::size_t c = 0; c < frame_.num_components; ++c)
    rows[c] = planes_[c].rows.data();
  if (!session_.read_mcu_row(rows))
    throw_bad_jpeg(session_);
  lap(times_, decode_part::decoding);
  for (std::size_t c = 0; c < frame_.num_components; ++c) {
    const auto count = planes_[c].rows.size();
    const auto skipped = extra_columns_ * frame_.components[c].mcu_width();
    to.planes[c] = {planes_[c].samples.data() + skipped, planes_[c].stride, next_row_ * count,
                    count};
  }
  ++next_row_;
}

} // namespace leat
