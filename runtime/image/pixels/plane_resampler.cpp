#include "runtime/image/pixels/plane_resampler.hpp"

#include <algorithm>
#include <bit>

namespace leat {

namespace {

/// Four outputs look at 16 samples in one go.
constexpr std::size_t quad = 4;
constexpr std::size_t window = 16;
static_assert(window <= plane_resampler::slack);

/// Where the samples of each four outputs begin; nothing where four are further apart than one
/// look.
bool find_windows(const fixed_weights& x, std::vector<std::size_t>& base) {
  base.clear();
  for (std::size_t i = 0; i < x.outputs(); i += quad) {
    const auto end = std::min(i + quad, x.outputs());
    const auto begin = *std::min_element(x.first.begin() + static_cast<std::ptrdiff_t>(i),
                                         x.first.begin() + static_cast<std::ptrdiff_t>(end));
    for (auto j = i; j < end; ++j)
      if (x.first[j] + x.count[j] - begin > window)
        return false;
    base.push_back(begin);
  }
  return true;
}

std::int32_t pack(std::int16_t even, std::int16_t odd) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(static_cast<std::uint16_t>(even))
                                   | static_cast<std::uint32_t>(static_cast<std::uint16_t>(odd))
                                         << 16);
}

} // namespace

void plane_resampler::axis::plan(const axis_weights& pixels, std::size_t ratio, bool smooth,
                                 std::size_t samples, std::size_t each) {
  const auto* x = &pixels;
  if (ratio > 1) {
    enlarged.fold(*x, ratio, smooth, samples);
    x = &enlarged;
  }
  if (each > 1) {
    reduced.fold_means(*x, each, (samples + each - 1) / each);
    x = &reduced;
  }
  fixed.assign(*x);
}

void plane_resampler::plan(const resize_plan& what, std::span<const plane_form> planes,
                           resample_kernels::colours colour) {
  what_ = what;
  num_planes_ = planes.size();
  colour_ = colour;
  std::copy(planes.begin(), planes.end(), forms_.begin());
  pixels_across_.plan(cut_across(what));
  pixels_down_.plan(cut_down(what));
  // Cb and Cr share theirs.
  for (std::size_t c = 0; c < num_planes_; ++c) {
    const auto& form = forms_[c];
    auto& plane = planes_[c];
    auto earlier = [&](auto same) {
      std::size_t i = 0;
      while (i < c && !same(forms_[i]))
        ++i;
      return i;
    };
    plane.columns = earlier([&](const plane_form& x) {
      return x.across == form.across && x.smooth_across == form.smooth_across
             && x.size.width == form.size.width && x.each == form.each;
    });
    plane.rows = earlier([&](const plane_form& x) {
      return x.down == form.down && x.smooth_down == form.smooth_down
             && x.size.height == form.size.height && x.each == form.each;
    });
    if (plane.columns == c)
      columns_[c].plan(pixels_across_, form.across, form.smooth_across, form.size.width, form.each);
    if (plane.rows == c)
      rows_[c].plan(pixels_down_, form.down, form.smooth_down, form.size.height, form.each);
  }
}

plane_rect plane_resampler::needed(std::size_t plane) const noexcept {
  const auto& across = columns_[planes_[plane].columns].fixed;
  const auto& down = rows_[planes_[plane].rows].fixed;
  return {across.low(), down.low(), across.high() - across.low(), down.high() - down.low()};
}

void plane_resampler::expect(std::size_t plane, std::size_t first_column, std::size_t rows) {
  auto& x = planes_[plane];
  x.first_column = first_column;
  // Planes wait for each other by at most two rows of pixels and their own taps.
  const auto high = std::bit_ceil(rows_[x.rows].fixed.taps + rows + 8);
  x.mask = high - 1;
  x.end = rows_[x.rows].fixed.high();
  const auto width = round_up(what_.window.width, kernels_.lanes);
  if (x.ring.size() < high * width)
    x.ring.resize(high * width);
  if (x.columns != plane && planes_[x.columns].first_column == first_column)
    return;
  x.columns = x.columns == plane ? plane : x.columns;
  auto& table = tables_[x.columns];
  const auto& weights = columns_[x.columns].fixed;
  table.is_wide = !find_windows(weights, table.narrow.base);
  if (table.is_wide)
    build_wide_table(x.columns, first_column);
  else
    build_narrow_table(x.columns, first_column);
}

void plane_resampler::build_narrow_table(std::size_t plane, std::size_t first_column) {
  const auto& weights = columns_[plane].fixed;
  auto& table = tables_[plane].narrow;
  const auto most = *std::max_element(weights.count.begin(), weights.count.end());
  table.pairs = (most + 1) / 2;
  const auto outputs = round_up(weights.outputs(), kernels_.lanes);
  // Lanes that no sample goes to: their byte is out of range.
  table.samples.assign(outputs * table.pairs * 4, 0x80);
  table.weights.assign(outputs * table.pairs * 2, 0);
  const auto half = kernels_.lanes / 2;
  for (std::size_t i = 0; i < weights.outputs(); ++i) {
    const auto shift = weights.first[i] - table.base[i / quad];
    const auto first_lane = i / half * table.pairs * kernels_.lanes + i % half * 2;
    auto* samples = table.samples.data() + 2 * first_lane;
    auto* to = table.weights.data() + first_lane;
    for (std::size_t t = 0; t < weights.count[i]; ++t) {
      const auto lane = t / 2 * kernels_.lanes + t % 2;
      samples[2 * lane] = static_cast<std::uint8_t>(shift + t);
      to[lane] = weights.at(i)[t];
    }
  }
  for (auto& x : table.base)
    x -= first_column;
  table.base.resize(outputs / quad, table.base.back());
}

void plane_resampler::build_wide_table(std::size_t plane, std::size_t first_column) {
  constexpr std::size_t step = 8;
  const auto& weights = columns_[plane].fixed;
  auto& table = tables_[plane].wide;
  const auto most = *std::max_element(weights.count.begin(), weights.count.end());
  table.steps = (most + step - 1) / step;
  table.base.resize(weights.outputs());
  table.weights.assign(weights.outputs() * table.steps * step, 0);
  // Whole steps are read: near the end from further left, so that they stay within the plane.
  const auto low = weights.low();
  const auto high = weights.high();
  const auto last = high - std::min(high - low, table.steps * step);
  for (std::size_t i = 0; i < weights.outputs(); ++i) {
    const auto base = std::min(weights.first[i], last);
    table.base[i] = base - first_column;
    std::copy_n(weights.at(i), weights.count[i],
                table.weights.data() + i * table.steps * step + (weights.first[i] - base));
  }
}

void plane_resampler::begin(const tensor_form& form, std::byte* image) {
  constexpr float one = 1 << resample_kernels::pixel_bits;
  target_.image = image;
  row_.colour = colour_;
  row_.type = form.type;
  row_.layout = form.layout;
  row_.width = what_.window.width;
  row_.plane_bytes = what_.window.width * what_.window.height * size_of(form.type);
  for (std::size_t c = 0; c < 3; ++c) {
    row_.scale[c] = 1 / (255 * one * form.std[c]);
    row_.offset[c] = -form.mean[c] / form.std[c];
  }
  target_.next = 0;
  for (std::size_t c = 0; c < num_planes_; ++c)
    planes_[c].loaded = needed(c).y;
}

void plane_resampler::load(std::size_t plane, const std::uint8_t* from, std::size_t stride,
                           std::size_t first_row, std::size_t rows) {
  auto& x = planes_[plane];
  const auto end = std::min(first_row + rows, x.end);
  const auto width = round_up(what_.window.width, kernels_.lanes);
  const auto& table = tables_[x.columns];
  constexpr std::size_t at_once = 8; // tables stay in registers for so many
  while (x.loaded < end) {
    std::int16_t* to[at_once];
    const auto count = std::min(at_once, end - x.loaded);
    for (std::size_t i = 0; i < count; ++i)
      to[i] = x.ring.data() + ((x.loaded + i) & x.mask) * width;
    const auto* row = from + (x.loaded - first_row) * stride;
    if (table.is_wide)
      kernels_.narrow_wide(table.wide, row, stride, count, to);
    else
      kernels_.narrow(table.narrow, row, stride, count, to);
    x.loaded += count;
  }
}

bool plane_resampler::is_ready(std::size_t y) const noexcept {
  for (std::size_t c = 0; c < num_planes_; ++c) {
    const auto& down = rows_[planes_[c].rows].fixed;
    if (down.first[y] + down.count[y] > planes_[c].loaded)
      return false;
  }
  return true;
}

bool plane_resampler::flush() {
  while (target_.next < what_.window.height && is_ready(target_.next))
    write_row(target_.next++);
  return target_.next == what_.window.height;
}

void plane_resampler::write_row(std::size_t y) {
  const auto width = round_up(what_.window.width, kernels_.lanes);
  for (std::size_t c = 0; c < num_planes_; ++c) {
    const auto& x = planes_[c];
    const auto& down = rows_[x.rows].fixed;
    const auto pairs = (down.count[y] + 1) / 2;
    auto& rows = tap_rows_[c];
    auto& weights = tap_weights_[c];
    rows.resize(2 * pairs);
    weights.resize(pairs);
    for (std::size_t t = 0; t < 2 * pairs; ++t) {
      // For an odd last pair any row will do.
      const auto at = down.first[y] + std::min(t, down.count[y] - 1);
      rows[t] = x.ring.data() + (at & x.mask) * width;
    }
    for (std::size_t p = 0; p < pairs; ++p)
      weights[p] = pack(down.at(y)[2 * p],
                        2 * p + 1 < down.count[y] ? down.at(y)[2 * p + 1] : std::int16_t{0});
    row_.planes[c] = {rows.data(), weights.data(), pairs};
  }
  const auto row_elements = row_.width * (row_.layout == image_layout::nchw ? 1 : 3);
  row_.to = target_.image + y * row_elements * size_of(row_.type);
  kernels_.write(row_);
}

} // namespace leat
