#include "runtime/image/device/image_group.hpp"

#include "runtime/base/aligned_vector.hpp"
#include "runtime/image/device/device_form.hpp"
#include "runtime/image/device/huffman_entries.hpp"
#include "runtime/image/device/resampling.hpp"
#include "runtime/image/device/stuffing.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace leat {

namespace {

/// What numbers of 32 bits can count.
constexpr std::size_t most_bytes = std::numeric_limits<std::uint32_t>::max();

void add_numbers(std::size_t image, std::size_t part, std::size_t count,
                 std::vector<device_tile>& to) {
  for (std::size_t i = 0; i < count; ++i)
    to.push_back({static_cast<std::uint16_t>(image), static_cast<std::uint16_t>(part),
                  static_cast<std::uint32_t>(i)});
}

/// Where the marker after coded bytes ends: what follows it may be long, as another image.
std::size_t end_of_coded(std::span<const std::byte> scan, std::size_t from) {
  constexpr std::byte escape{0xFF};
  auto at = scan.begin() + static_cast<std::ptrdiff_t>(from);
  while ((at = std::find(at, scan.end(), escape)) != scan.end()) {
    if (scan.end() - at <= 2)
      break;
    const bool is_marker = at[1] != std::byte{0};
    at += 2;
    if (is_marker)
      return static_cast<std::size_t>(at - scan.begin());
  }
  return scan.size();
}

template <class T>
const T* write_to(std::span<std::byte> staging, std::size_t at, const std::vector<T>& from,
                  const std::byte* device_staging) {
  const auto bytes = std::as_bytes(std::span{from});
  std::copy(bytes.begin(), bytes.end(), staging.data() + at);
  return reinterpret_cast<const T*>(device_staging + at);
}

} // namespace

image_group::image_group(std::span<std::byte> staging, std::size_t scratch, planes_by by)
    : staging_(staging.first(std::min(staging.size(), most_bytes))),
      scratch_(std::min(scratch, most_bytes)), by_(by) {}

void image_group::clear() {
  used_ = {};
  images_.clear();
  stretches_.clear();
  for (auto* tiles :
       {&tiles_.axis, &tiles_.block, &tiles_.row, &tiles_.pixel, &tiles_.gray, &tiles_.colour})
    tiles->clear();
}

bool image_group::fits(const group_room& x) const noexcept {
  return x.images <= std::numeric_limits<std::uint16_t>::max() && x.copied().end <= staging_.size()
         && x.made().end <= scratch_;
}

void image_group::withdraw(std::size_t number) {
  auto& x = images_[number];
  (x.jitter.is_used != 0 ? x.jitter.pixels : x.pixels).to = nullptr;
}

image_group::added image_group::add(const group_image& x) {
  const auto number = images_.size();
  const auto first_stretch = stretches_.size();
  auto& image = images_.emplace_back();
  group_room takes;
  auto refuse = [&](added answer, cpu_reason reason) {
    images_.pop_back();
    stretches_.resize(first_stretch);
    why_ = reason;
    return answer;
  };
  if (const auto reason = describe(x, by_, image, takes))
    return refuse(added::no, *reason);
  if (!fits(takes)) // before numbers of 32 bits are used
    return refuse(added::no, cpu_reason::too_large);
  if (by_ == planes_by::kernels && !plan_stretches(x, image, takes))
    return refuse(added::no, cpu_reason::no_places);
  if (!fits(takes))
    return refuse(added::no, cpu_reason::too_large);
  if (!fits(used_ + takes))
    return refuse(added::full, cpu_reason::too_large);

  for (const auto& bytes : segments_)
    std::memcpy(staging_.data() + used_.bytes + bytes.at, x.frame->scan.data() + bytes.from,
                bytes.to - bytes.from);
  for (auto i = first_stretch; i < stretches_.size(); ++i) {
    auto& stretch = stretches_[i];
    stretch.image = static_cast<std::uint32_t>(number);
    stretch.from += static_cast<std::uint32_t>(used_.bytes);
    stretch.to += static_cast<std::uint32_t>(used_.bytes);
    stretch.next += static_cast<std::uint32_t>(used_.bytes);
    stretch.first_word += static_cast<std::uint32_t>(used_.words);
  }
  shift(image, used_);
  add_tiles(image);
  used_ += takes;
  return added::yes;
}

// -- stretches

bool image_group::plan_stretches(const group_image& from, const device_image& image,
                                 group_room& takes) {
  segments_.clear();
  const auto& places = from.places;
  const auto across = from.frame->mcus_across();
  std::size_t row = 0;
  for (std::size_t begin = 0; begin < places.size(); ++row) {
    auto end = begin + 1;
    while (end < places.size() && places[end].column != 0)
      ++end;
    const bool is_row = places[begin].column == 0 && places[end - 1].column < across;
    if (!is_row
        || (row >= image.y && row < image.y + image.height
            && !plan_row(from, image, row, begin, end, takes)))
      return false;
    begin = end;
  }
  if (row != from.frame->mcus_down())
    return false;
  takes.bytes = round_up(takes.bytes, 16);
  return true;
}

// The processor begins a row with one of the row index's places and looks at all from there on to
// the last MCU of the part. So does this, at least, that both see the same damage; and the last
// stretch is decoded whole, that its end can be compared.
bool image_group::plan_row(const group_image& from, const device_image& image, std::size_t row,
                           std::size_t begin, std::size_t end, group_room& takes) {
  const auto& places = from.places;
  const auto scan = from.frame->scan;
  const auto across = from.frame->mcus_across();
  const auto first_seen = image.x - image.x % scan_decoder::mcus_a_place;
  auto i = begin;
  while (i + 1 < end && places[i + 1].column <= first_seen)
    ++i;
  for (; i < end && places[i].column < image.x + image.width; ++i) {
    const auto& place = places[i];
    const bool has_next = i + 1 < places.size();
    const auto& next = has_next ? places[i + 1] : place;
    const std::size_t next_column = i + 1 < end ? next.column : across;
    const std::size_t first = place.bit / 8;
    // The last byte is shared with what follows, and may be followed by a zero.
    const std::size_t stop = first >= scan.size() ? 0
                             : has_next ? std::min<std::size_t>(next.bit / 8 + 2, scan.size())
                                        : end_of_coded(scan, first);
    if (first >= stop || next_column <= place.column || (has_next && next.bit <= place.bit))
      return false;
    if (!segments_.empty() && first < segments_.back().from)
      return false;
    // No place lies before the zero that follows 0xFF; in a damaged file it may.
    if (first > 0 && scan[first - 1] == std::byte{0xFF} && scan[first] == std::byte{0})
      return false;
    if (segments_.empty() || segments_.back().to < first) {
      segments_.push_back({first, stop, takes.bytes});
      takes.bytes += stop - first;
    } else if (segments_.back().to < stop) {
      takes.bytes += stop - segments_.back().to;
      segments_.back().to = stop;
    }
    const auto& bytes = segments_.back();
    const auto at = bytes.at - bytes.from; // wraps, and back
    auto& x = stretches_.emplace_back();
    x.from = static_cast<std::uint32_t>(first + at);
    x.to = static_cast<std::uint32_t>(stop + at);
    x.next = has_next ? static_cast<std::uint32_t>(next.bit / 8 + at) : x.to;
    x.first_word = static_cast<std::uint32_t>(takes.words);
    x.x = place.column;
    x.y = static_cast<std::uint16_t>(row);
    x.mcus = static_cast<std::uint16_t>(next_column - place.column);
    x.bit = static_cast<std::uint8_t>(place.bit % 8);
    x.next_bit = has_next ? static_cast<std::uint8_t>(next.bit % 8) : std::uint8_t{0};
    x.is_checked = has_next ? 1 : 0;
    std::copy(place.dc.begin(), place.dc.end(), x.dc);
    std::copy(next.dc.begin(), next.dc.end(), x.next_dc);
    takes.words += words_of(static_cast<std::uint32_t>(stop - first));
    ++takes.stretches;
  }
  return true;
}

// -- tiles

void image_group::add_tiles(const device_image& image) {
  const auto number = images_.size() - 1;
  for (std::uint32_t a = 0; a < device_image::most_axes; ++a)
    add_numbers(number, a, pieces_of(image.axes[a].outputs, device_tiles::axis), tiles_.axis);
  const std::size_t pieces = pieces_of(image.pixels.width, device_tiles::columns);
  for (std::uint32_t c = 0; c < image.num_components; ++c) {
    const auto& x = image.components[c];
    if (by_ == planes_by::kernels)
      add_numbers(number, c, pieces_of(x.columns * x.rows, device_tiles::blocks), tiles_.block);
    add_numbers(number, c, pieces_of(x.num_rows, device_tiles::rows) * pieces, tiles_.row);
  }
  add_numbers(number, 0, pieces_of(image.pixels.height, device_tiles::pixel_rows) * pieces,
              tiles_.pixel);
  if (image.jitter.is_used == 0)
    return;
  if (image.jitter.contrast < image.jitter.num_steps)
    add_numbers(number, 0, 1, tiles_.gray);
  add_numbers(number, 0, pieces_of(image.pixels.width * image.pixels.height, device_tiles::colours),
              tiles_.colour);
}

device_group image_group::seal(const std::byte* device_staging, std::byte* device_scratch) {
  const auto from = used_.copied();
  const auto made = used_.made();
  auto made_at = [&]<class T>(T*& to, std::size_t at) {
    to = reinterpret_cast<T*>(device_scratch + at);
  };
  for (auto& image : images_)
    if (image.jitter.is_used != 0)
      image.pixels.to = device_scratch + made.floats + image.jitter.first_float * sizeof(float);
  device_group x{};
  x.bytes = reinterpret_cast<const std::uint8_t*>(device_staging);
  x.images = write_to(staging_, from.images, images_, device_staging);
  x.stretches = write_to(staging_, from.stretches, stretches_, device_staging);
  x.axis_tiles = write_to(staging_, from.axis_tiles, tiles_.axis, device_staging);
  x.block_tiles = write_to(staging_, from.block_tiles, tiles_.block, device_staging);
  x.row_tiles = write_to(staging_, from.row_tiles, tiles_.row, device_staging);
  x.pixel_tiles = write_to(staging_, from.pixel_tiles, tiles_.pixel, device_staging);
  x.gray_tiles = write_to(staging_, from.gray_tiles, tiles_.gray, device_staging);
  x.colour_tiles = write_to(staging_, from.colour_tiles, tiles_.colour, device_staging);
  made_at(x.told, made.told);
  made_at(x.tables, made.tables);
  made_at(x.bits, made.bits);
  made_at(x.words, made.words);
  made_at(x.spans, made.spans);
  made_at(x.weights, made.weights);
  made_at(x.coefficients, made.coefficients);
  made_at(x.samples, made.samples);
  made_at(x.narrowed, made.coefficients);
  made_at(x.floats, made.floats);
  made_at(x.grays, made.grays);
  x.num_images = static_cast<std::uint32_t>(images_.size());
  x.num_stretches = static_cast<std::uint32_t>(stretches_.size());
  x.num_axis_tiles = static_cast<std::uint32_t>(tiles_.axis.size());
  x.num_block_tiles = static_cast<std::uint32_t>(tiles_.block.size());
  x.num_row_tiles = static_cast<std::uint32_t>(tiles_.row.size());
  x.num_pixel_tiles = static_cast<std::uint32_t>(tiles_.pixel.size());
  x.num_gray_tiles = static_cast<std::uint32_t>(tiles_.gray.size());
  x.num_colour_tiles = static_cast<std::uint32_t>(tiles_.colour.size());
  x.num_blocks = static_cast<std::uint32_t>(used_.blocks);
  return x;
}

} // namespace leat
