#include "tools/leat/bench/decode_parts.hpp"

#include "runtime/image/jpeg/dct_scale.hpp"
#include "runtime/image/plane_plan.hpp"

#include <algorithm>
#include <stdexcept>

namespace leat::command {

namespace {

std::size_t round_up(std::size_t x, std::size_t to) {
  return (x + to - 1) / to * to;
}

void require(bool good) {
  if (!good)
    throw std::logic_error("an image that could be decoded before is damaged now");
}

} // namespace

const char* name_of(decode_part x) noexcept {
  constexpr std::array names{"headers",
                             "weights, tables of resampling",
                             "Huffman tables",
                             "removing stuffing",
                             "entropy: skim",
                             "entropy: decode",
                             "inverse DCT",
                             "resample: narrow",
                             "resample: sum, colour, store"};
  static_assert(names.size() == num_decode_parts);
  return names[static_cast<std::size_t>(x)];
}

part_watch::part_watch() {
  constexpr int looks = 1000;
  begin();
  for (int i = 0; i < looks; ++i)
    lap(decode_part::headers);
  own_seconds_ = seconds_[0] / looks;
  seconds_ = {};
}

timed_reader::timed_reader(const image_reader::ways& allowed)
    : reader_(allowed), headers_(allowed.transform), transform_(allowed.transform),
      scan_(allowed.transform.group), resampler_(allowed.kernels),
      coefficients_(scan_decoder::max_blocks * allowed.transform.group.size()) {}

bool timed_reader::takes(const decode_case& x) {
  if (!scan_decoder::understands(headers_.open(x.file, max_pixels)) || headers_.survey().empty())
    return false;
  std::vector<std::byte> pixels(3 * pixels_across * pixels_across);
  part_watch watch;
  make(x, false, true, {.type = dtype::u8}, pixels.data(), watch);
  return fits_;
}

void timed_reader::plan(const decode_case& x) {
  frame_ = scaled(frame_, dct_scale_for(x.what));
  std::array<plane_form, 3> forms;
  for (std::size_t c = 0; c < frame_.num_components; ++c)
    forms[c] = plane_form_of(frame_, c);
  resampler_.plan(x.what, {forms.data(), frame_.num_components}, colour_of(frame_));
  part_ = mcus_needed(resampler_, frame_);
  constexpr std::size_t most_rows = 32;
  for (std::size_t c = 0; c < frame_.num_components; ++c)
    resampler_.expect(c, part_.x * frame_.components[c].mcu_width(), most_rows);
}

void timed_reader::reserve() {
  const auto mcus = round_up(part_.width, transform_.group.blocks);
  for (std::size_t c = 0; c < frame_.num_components; ++c) {
    const auto& x = frame_.components[c];
    auto& plane = planes_[c];
    plane.stride = round_up(mcus * x.mcu_width() + plane_strip::slack, 64);
    const auto bytes = plane.stride * x.mcu_height();
    if (plane.samples.size() < bytes)
      plane.samples.resize(bytes + bytes / 4);
  }
}

void timed_reader::transform_groups(std::size_t first_mcu) {
  const auto& group = transform_.group;
  for (std::size_t c = 0; c < frame_.num_components; ++c) {
    const auto& x = frame_.components[c];
    auto& plane = planes_[c];
    const auto transform = transform_.to(x.samples);
    auto* from = coefficients_.data() + scan_.first_group(c) * group.size();
    for (std::size_t v = 0; v < x.down; ++v) {
      auto* to = plane.samples.data() + v * x.samples * plane.stride + first_mcu * x.mcu_width();
      for (std::size_t h = 0; h < x.across; ++h, from += group.size())
        fits_ = transform(from, x.quantisation, to + h * group.blocks * x.samples, plane.stride)
                && fits_;
    }
  }
}

void timed_reader::decode_row(bool transforms, part_watch& watch) {
  const auto blocks = transform_.group.blocks;
  for (std::size_t mcu = 0; mcu < part_.width; mcu += blocks) {
    require(scan_.decode(std::min(blocks, part_.width - mcu), coefficients_.data()));
    if (transforms)
      transform_groups(mcu);
  }
  watch.lap(decode_part::decoding);
}

void timed_reader::make(const decode_case& x, bool with_places, bool transforms,
                        const tensor_form& form, std::byte* to, part_watch& watch) {
  fits_ = true;
  watch.begin();
  frame_ = headers_.open(x.file, max_pixels);
  watch.lap(decode_part::headers);
  plan(x);
  reserve();
  watch.lap(decode_part::planning);
  require(scan_.open(frame_));
  watch.lap(decode_part::huffman_tables);
  if (!with_places) {
    scan_.rewind();
    watch.lap(decode_part::unstuffing);
    require(scan_.skim(part_.y * frame_.mcus_across()));
    watch.lap(decode_part::skimming);
  }
  resampler_.begin(form, to);
  for (auto y = part_.y;; ++y) {
    // To find a place takes removing what is stuffed there, and a short way of skimming.
    require(with_places ? scan_.seek(x.places, y, part_.x, part_.x + part_.width)
                        : scan_.skim(part_.x));
    watch.lap(decode_part::skimming);
    decode_row(transforms, watch);
    if (!with_places) {
      require(scan_.skim(frame_.mcus_across() - part_.x - part_.width));
      watch.lap(decode_part::skimming);
    }
    for (std::size_t c = 0; c < frame_.num_components; ++c) {
      const auto rows = frame_.components[c].mcu_height();
      resampler_.load(c, planes_[c].samples.data(), planes_[c].stride, y * rows, rows);
    }
    watch.lap(decode_part::narrowing);
    const bool is_done = resampler_.flush();
    watch.lap(decode_part::writing);
    if (is_done)
      break;
  }
  if (!transforms)
    std::fill(coefficients_.begin(), coefficients_.end(), std::int16_t{0});
}

bool timed_reader::agrees(const decode_case& x, const tensor_form& form) {
  const auto bytes = 3 * pixels_across * pixels_across * size_of(form.type);
  std::vector<std::byte> own(bytes);
  std::vector<std::byte> made(bytes);
  part_watch watch;
  make(x, false, true, form, own.data(), watch);
  reader_.open(x.file, max_pixels);
  reader_.make(x.what, form, made.data());
  if (own != made)
    return false;
  make(x, true, true, form, own.data(), watch);
  return own == made;
}

part_seconds time_parts(timed_reader& by, const std::vector<const decode_case*>& images,
                        bool with_places, const tensor_form& form, image_ring& to) {
  part_watch with_transform;
  part_watch without;
  // Not part after part for each image, whose bytes would then be in the cache.
  for (const auto* x : images)
    by.make(*x, with_places, false, form, to.next(), without);
  for (const auto* x : images)
    by.make(*x, with_places, true, form, to.next(), with_transform);
  auto result = with_transform.seconds();
  constexpr auto decoding = static_cast<std::size_t>(decode_part::decoding);
  constexpr auto transforming = static_cast<std::size_t>(decode_part::transforming);
  result[transforming] = result[decoding] - without.seconds()[decoding];
  result[decoding] = without.seconds()[decoding];
  for (auto& seconds : result)
    seconds *= 1e6 / static_cast<double>(images.size());
  return result;
}

} // namespace leat::command
