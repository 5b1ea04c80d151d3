#include "runtime/image/device/device_form.hpp"

#include "runtime/base/aligned_vector.hpp"
#include "runtime/image/device/huffman_entries.hpp"
#include "runtime/image/device/output_weights.hpp"
#include "runtime/image/device/resampling.hpp"
#include "runtime/image/pixels/axis_weights.hpp"
#include "runtime/image/pixels/element.hpp"
#include "runtime/image/plane_plan.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <utility>

namespace leat {

namespace {

std::uint32_t small(std::size_t x) noexcept {
  return static_cast<std::uint32_t>(x);
}

// -- Huffman codes

/// False where libjpeg refuses the code, or there are too many long ones for a table.
bool read_code(const huffman_code& from, bool is_ac, device_huffman& to) {
  if (from.counts == nullptr || from.symbols == nullptr)
    return false;
  std::uint32_t symbols = 0;
  to.limit[0] = 0;
  to.base[0] = 0;
  for (unsigned length = 1; length <= 16; ++length) {
    to.base[length] = symbols;
    to.limit[length] = to.limit[length - 1] + (std::uint32_t{from.counts[length]} << (16 - length));
    symbols += from.counts[length];
    // The code of all ones is reserved.
    if (to.limit[length] > 0xFFFF)
      return false;
  }
  if (symbols > std::size(to.symbols))
    return false;
  std::memcpy(to.symbols, from.symbols, symbols);
  to.is_ac = is_ac ? 1 : 0;
  const bool fits =
      is_ac || std::all_of(to.symbols, to.symbols + symbols, [](auto x) { return x <= 15; });
  return fits && long_entries(to) <= (is_ac ? device_tables::long_ac : device_tables::long_dc);
}

/// Which of two codes a component has, by where the file's ones lie. More than two: false.
class code_reader {
public:
  code_reader(device_huffman* to, bool is_ac) : to_(to), is_ac_(is_ac) {}

  bool read(const huffman_code& code, std::uint32_t& number) {
    number = 0;
    while (number < found_ && seen_[number] != code.counts)
      ++number;
    if (number < found_)
      return true;
    if (found_ == seen_.size() || !read_code(code, is_ac_, to_[found_]))
      return false;
    seen_[found_++] = code.counts;
    return true;
  }

private:
  device_huffman* to_;
  bool is_ac_;
  std::array<const std::uint8_t*, 2> seen_{};
  std::uint32_t found_ = 0;
};

bool read_codes(const jpeg_frame& frame, device_image& to) {
  code_reader dc{to.codes, false};
  code_reader ac{to.codes + 2, true};
  for (std::size_t c = 0; c < frame.num_components; ++c)
    if (!dc.read(frame.components[c].dc, to.components[c].dc)
        || !ac.read(frame.components[c].ac, to.components[c].ac))
      return false;
  return true;
}

// -- axes

/// Samples of an axis that are needed: low .. high-1.
struct sample_range {
  std::size_t low;
  std::size_t high;
};

sample_range needed_by(const device_axis& x) {
  const auto a = output_weights{x, 0}.inputs();
  const auto b = output_weights{x, x.outputs - 1}.inputs();
  return {std::min(a.first, b.first), std::max(a.first + a.count, b.first + b.count)};
}

/// Weights of one output, at most: as axis_weights and fixed_weights have room for.
std::size_t taps_of(const device_axis& x) {
  auto taps = static_cast<std::size_t>(std::ceil(std::max(1.0, x.scale))) * 2 + 1;
  if (x.ratio > 1)
    taps = taps / x.ratio + 3;
  if (x.each > 1)
    taps = taps / x.each + 4;
  return taps;
}

device_axis axis_of(const axis_cut& cut, const plane_form& form, bool down) {
  return {.scale = cut.scale,
          .begin = small(cut.begin),
          .inputs = small(cut.inputs),
          .first_output = small(cut.first_output),
          .outputs = small(cut.outputs),
          .mirrored = cut.mirrored ? 1U : 0U,
          .ratio = small(down ? form.down : form.across),
          .smooth = (down ? form.smooth_down : form.smooth_across) ? 1U : 0U,
          .samples = small(down ? form.size.height : form.size.width),
          .each = small(form.each),
          .taps = 0,
          .weights = 0,
          .spans = 0};
}

bool same(const device_axis& a, const device_axis& b) noexcept {
  return a.ratio == b.ratio && a.smooth == b.smooth && a.samples == b.samples && a.each == b.each;
}

/// The axes of one direction; planes of the same form share one.
class axes_writer {
public:
  axes_writer(device_image& to, bool down, group_room& takes)
      : to_(to), takes_(takes), first_(down ? device_image::most_components : 0), end_(first_) {}

  /// Its number, and the samples that it needs.
  std::pair<std::uint32_t, sample_range> add(device_axis x) {
    std::uint32_t i = first_;
    while (i < end_ && !same(to_.axes[i], x))
      ++i;
    if (i < end_)
      return {i, ranges_[i - first_]};
    const auto taps = taps_of(x);
    x.taps = small(taps);
    x.weights = small(takes_.weights);
    x.spans = small(takes_.spans);
    takes_.weights += round_up(taps * x.outputs, 8);
    takes_.spans += x.outputs;
    takes_.tiles.axis += pieces_of(x.outputs, device_tiles::axis);
    to_.axes[end_] = x;
    ranges_[end_ - first_] = needed_by(x);
    return {end_++, ranges_[i - first_]};
  }

private:
  device_image& to_;
  group_room& takes_;
  std::uint32_t first_;
  std::uint32_t end_;
  std::array<sample_range, device_image::most_components> ranges_{};
};

/// Samples of each component's plane, and of all of them the MCUs.
struct needed_part {
  std::array<sample_range, device_image::most_components> columns{};
  std::array<sample_range, device_image::most_components> rows{};
  std::size_t left = ~std::size_t{0};
  std::size_t top = ~std::size_t{0};
  std::size_t right = 0;
  std::size_t bottom = 0;
};

needed_part plan_axes(const group_image& from, device_image& to, group_room& takes) {
  const auto& frame = *from.frame;
  const auto across = cut_across(*from.plan);
  const auto down = cut_down(*from.plan);
  axes_writer columns{to, false, takes};
  axes_writer rows{to, true, takes};
  needed_part x;
  for (std::size_t c = 0; c < frame.num_components; ++c) {
    const auto form = plane_form_of(frame, c);
    auto& component = to.components[c];
    std::tie(component.columns_axis, x.columns[c]) = columns.add(axis_of(across, form, false));
    std::tie(component.rows_axis, x.rows[c]) = rows.add(axis_of(down, form, true));
    const auto& of = frame.components[c];
    x.left = std::min(x.left, x.columns[c].low / of.mcu_width());
    x.right = std::max(x.right, (x.columns[c].high - 1) / of.mcu_width());
    x.top = std::min(x.top, x.rows[c].low / of.mcu_height());
    x.bottom = std::max(x.bottom, (x.rows[c].high - 1) / of.mcu_height());
  }
  return x;
}

/// All MCUs.
needed_part whole(const jpeg_frame& frame, needed_part x) {
  x.left = x.top = 0;
  x.right = frame.mcus_across() - 1;
  x.bottom = frame.mcus_down() - 1;
  return x;
}

// -- planes

void plan_planes(const jpeg_frame& frame, const needed_part& part, planes_by by, device_image& to,
                 group_room& takes) {
  const auto width = part.right - part.left + 1;
  const auto height = part.bottom - part.top + 1;
  const auto pieces = pieces_of(to.pixels.width, device_tiles::columns);
  to.x = small(part.left);
  to.y = small(part.top);
  to.width = small(width);
  to.height = small(height);
  for (std::size_t c = 0; c < frame.num_components; ++c) {
    const auto& from = frame.components[c];
    auto& x = to.components[c];
    const auto columns = width * from.across;
    const auto rows = height * from.down;
    const auto num_rows = part.rows[c].high - part.rows[c].low;
    x.across = from.across;
    x.down = from.down;
    x.columns = small(columns);
    x.rows = small(rows);
    x.each = small(from.samples);
    x.left = small(part.left * from.mcu_width());
    x.top = small(part.top * from.mcu_height());
    x.first_row = small(part.rows[c].low);
    x.num_rows = small(num_rows);
    x.first_block = small(takes.blocks);
    x.first_sample = small(takes.samples);
    x.first_narrowed = small(takes.narrowed);
    takes.samples += round_up(columns * rows * from.samples * from.samples, 16);
    takes.narrowed += num_rows * to.pixels.stride;
    takes.tiles.row += (num_rows + device_tiles::rows - 1) / device_tiles::rows * pieces;
    if (by != planes_by::kernels)
      continue;
    takes.blocks += columns * rows;
    takes.tiles.block += (columns * rows + device_tiles::blocks - 1) / device_tiles::blocks;
    std::memcpy(x.quantisation, from.quantisation, sizeof x.quantisation);
  }
}

// -- pixels

device_element element_of(dtype x) {
  switch (x) {
  case dtype::u8:
    return device_element::u8;
  case dtype::f16:
    return device_element::f16;
  case dtype::bf16:
    return device_element::bf16;
  default:
    return device_element::f32;
  }
}

device_colours colours_of(const jpeg_frame& frame) {
  switch (colour_of(frame)) {
  case resample_kernels::colours::gray:
    return device_colours::gray;
  case resample_kernels::colours::rgb:
    return device_colours::rgb;
  default:
    return device_colours::ycc;
  }
}

device_pixels pixels_of(const group_image& from, const tensor_form& form) {
  const auto& window = from.plan->window;
  device_pixels to{};
  to.width = small(window.width);
  to.height = small(window.height);
  to.stride = small(round_up(window.width, 4));
  to.colours = colours_of(*from.frame);
  to.type = element_of(form.type);
  to.planes = form.layout == image_layout::nchw ? 1 : 0;
  constexpr float one = 1 << resample_kernels::pixel_bits;
  for (std::size_t c = 0; c < 3; ++c) {
    to.scale[c] = 1 / (255 * one * form.std[c]);
    to.offset[c] = -form.mean[c] / form.std[c];
  }
  return to;
}

/// The image's tensor.
device_pixels tensor_of(const group_image& from) {
  auto to = pixels_of(from, *from.form);
  to.to = from.pixels;
  if (from.erased == nullptr)
    return to;
  const auto& erased = from.erased->part;
  to.erased_x = small(erased.x);
  to.erased_y = small(erased.y);
  to.erased_width = small(erased.width);
  to.erased_height = small(erased.height);
  for (std::size_t c = 0; c < 3; ++c)
    put_float(from.form->type, from.erased->values[c], 0,
              reinterpret_cast<std::byte*>(&to.erased[c]));
  return to;
}

void add_step(device_adjustment what, const std::optional<double>& factor, device_jitter& to) {
  if (!factor)
    return;
  if (what == device_adjustment::contrast)
    to.contrast = to.num_steps;
  to.steps[to.num_steps] = what;
  to.shares[to.num_steps] =
      static_cast<float>(what == device_adjustment::hue ? 6 * *factor : *factor);
  to.rests[to.num_steps] = static_cast<float>(1 - *factor);
  ++to.num_steps;
}

constexpr std::uint32_t no_contrast = 4; // steps

void plan_jitter(const group_image& from, device_jitter& to, group_room& takes) {
  to.is_used = 1;
  to.pixels = tensor_of(from);
  to.contrast = no_contrast;
  for (const auto what : from.jitter->order)
    switch (what) {
    case color_adjustment::brightness:
      add_step(device_adjustment::brightness, from.jitter->brightness, to);
      break;
    case color_adjustment::contrast:
      add_step(device_adjustment::contrast, from.jitter->contrast, to);
      break;
    case color_adjustment::saturation:
      add_step(device_adjustment::saturation, from.jitter->saturation, to);
      break;
    case color_adjustment::hue:
      add_step(device_adjustment::hue, from.jitter->hue, to);
      break;
    }
  for (std::size_t c = 0; c < 3; ++c) {
    to.mean[c] = from.form->mean[c];
    to.deviation[c] = from.form->std[c];
  }
  const auto pixels = std::size_t{to.pixels.width} * to.pixels.height;
  takes.floats += round_up(3 * pixels, 4);
  takes.tiles.gray += to.contrast != no_contrast ? 1 : 0;
  takes.tiles.colour += (pixels + device_tiles::colours - 1) / device_tiles::colours;
}

void plan_pixels(const group_image& from, device_image& to, group_room& takes) {
  if (from.jitter != nullptr)
    plan_jitter(from, to.jitter, takes);
  // Floats from 0 to 1, in planes, or the tensor.
  to.pixels = from.jitter != nullptr ? pixels_of(from, {}) : tensor_of(from);
  takes.tiles.pixel += std::size_t{pieces_of(to.pixels.width, device_tiles::columns)}
                       * pieces_of(to.pixels.height, device_tiles::pixel_rows);
}

std::optional<cpu_reason> why_not_by_kernels(const jpeg_frame& frame, device_image& to) {
  if (!frame.is_plain)
    return cpu_reason::not_baseline;
  if (!scan_decoder::understands(frame) || !has_planes(frame))
    return cpu_reason::components;
  if (frame.restart_interval != 0)
    return cpu_reason::restarts;
  if (!read_codes(frame, to))
    return cpu_reason::tables;
  return std::nullopt;
}

std::optional<cpu_reason> why_not_by_others(const jpeg_frame& frame) {
  const bool is_gray = frame.num_components == 1;
  if (!has_planes(frame) || (!is_gray && frame.num_components != 3))
    return cpu_reason::components;
  if (!is_gray && frame.colour != jpeg_frame::colours::ycc)
    return cpu_reason::not_for_nvjpeg;
  return std::nullopt;
}

} // namespace

std::optional<cpu_reason> describe(const group_image& from, planes_by by, device_image& to,
                                   group_room& takes) {
  const auto& frame = *from.frame;
  if (const auto reason =
          by == planes_by::kernels ? why_not_by_kernels(frame, to) : why_not_by_others(frame))
    return reason;
  to.num_components = small(frame.num_components);
  takes.images = 1;
  plan_pixels(from, to, takes);
  const auto part = plan_axes(from, to, takes);
  plan_planes(frame, by == planes_by::kernels ? part : whole(frame, part), by, to, takes);
  return std::nullopt;
}

void shift(device_image& x, const group_room& before) noexcept {
  for (std::uint32_t c = 0; c < x.num_components; ++c) {
    auto& component = x.components[c];
    component.first_block += small(before.blocks);
    component.first_sample += small(before.samples);
    component.first_narrowed += small(before.narrowed);
  }
  for (auto& axis : x.axes) {
    axis.weights += small(before.weights);
    axis.spans += small(before.spans);
  }
  x.jitter.first_float += small(before.floats);
}

} // namespace leat
