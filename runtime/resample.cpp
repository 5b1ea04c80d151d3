#include "runtime/resample.hpp"

#include "runtime/resample_avx2.hpp"

#include <algorithm>
#include <cmath>

namespace leat {

namespace {

constexpr std::int32_t half = 1 << (resample_axis::weight_bits - 1);

// One kernel step of four taps reads 16 bytes; three pixels of zero weight may follow the last one.
static_assert(rgb_slack >= 3 * 3 + 4);

/// Inputs of one output before padding, and where its triangle stands.
struct triangle {
  double centre;
  std::size_t first;
  std::size_t count;
};

// Pillow rounds by adding 0.5 and cutting; lround would differ.
// NOLINTBEGIN(bugprone-incorrect-roundings)
triangle place(std::size_t in, std::size_t i, double scale, double support) {
  const double centre = (static_cast<double>(i) + 0.5) * scale;
  const auto first = static_cast<std::size_t>(std::max(0.0, centre - support + 0.5));
  const auto last = std::min(in, static_cast<std::size_t>(centre + support + 0.5));
  return {centre, first, last - first};
}
// NOLINTEND(bugprone-incorrect-roundings)

std::size_t round_up(std::size_t x, std::size_t to) {
  return (x + to - 1) / to * to;
}

/// Pillow's order of operations throughout: its last bits are ours.
void weigh(const triangle& at, double inverse_width, std::vector<double>& weights) {
  double sum = 0;
  for (std::size_t t = 0; t < at.count; ++t) {
    const double distance = (static_cast<double>(t + at.first) - at.centre + 0.5) * inverse_width;
    weights[t] = std::max(0.0, 1.0 - std::abs(distance));
    sum += weights[t];
  }
  if (sum != 0)
    for (std::size_t t = 0; t < at.count; ++t)
      weights[t] /= sum;
}

std::int32_t quantise(double weight) {
  return static_cast<std::int32_t>( // NOLINTNEXTLINE(bugprone-incorrect-roundings): as Pillow does
      0.5 + weight * (1 << resample_axis::weight_bits));
}

std::uint32_t pack(std::int32_t even, std::int32_t odd) {
  return static_cast<std::uint32_t>(even) | static_cast<std::uint32_t>(odd) << 16;
}

resample_axis::tap_pair split(std::int32_t even, std::int32_t odd) {
  constexpr std::int32_t low = (1 << resample_axis::split_bits) - 1;
  return {pack(even >> resample_axis::split_bits, odd >> resample_axis::split_bits),
          pack(even & low, odd & low)};
}

std::uint8_t finish(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::min(sum >> resample_axis::weight_bits, 255));
}

void plain_row(const resample_axis& axis, std::size_t origin, const std::uint8_t* in,
               std::uint8_t* out) {
  const std::int32_t* weights = axis.weights.data();
  for (std::size_t i = 0; i < axis.first.size(); ++i, weights += axis.taps, out += 3) {
    const std::uint8_t* pixel = in + 3 * (axis.first[i] - origin);
    std::int32_t red = half;
    std::int32_t green = half;
    std::int32_t blue = half;
    for (std::size_t t = 0; t < axis.taps; ++t, pixel += 3) {
      red += weights[t] * pixel[0];
      green += weights[t] * pixel[1];
      blue += weights[t] * pixel[2];
    }
    out[0] = finish(red);
    out[1] = finish(green);
    out[2] = finish(blue);
  }
}

void plain_rows(const resample_axis& axis, std::size_t origin, const std::uint8_t* const in[2],
                std::uint8_t* const out[2]) {
  plain_row(axis, origin, in[0], out[0]);
  plain_row(axis, origin, in[1], out[1]);
}

void plain_column(const resample_axis& axis, std::size_t i, const std::uint8_t* const* in,
                  std::size_t bytes, std::uint8_t* out) {
  constexpr std::size_t block = 256; // sums stay in the first-level cache
  std::int32_t sums[block];
  const std::int32_t* weights = axis.weights.data() + i * axis.taps;
  for (std::size_t begin = 0; begin < bytes; begin += block) {
    const std::size_t n = std::min(block, bytes - begin);
    std::fill_n(sums, n, half);
    for (std::size_t t = 0; t < axis.taps; ++t)
      for (std::size_t k = 0; k < n; ++k)
        sums[k] += weights[t] * in[t][begin + k];
    for (std::size_t k = 0; k < n; ++k)
      out[begin + k] = finish(sums[k]);
  }
}

} // namespace

// An axis that keeps its size needs no case of its own: each output then has the one weight 1.
void resample_axis::plan(std::size_t in, std::size_t out, std::size_t begin, std::size_t end,
                         std::size_t granularity) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double support = std::max(1.0, scale);
  const auto widest = static_cast<std::size_t>(std::ceil(support)) * 2 + 1;
  taps = 0;
  for (std::size_t i = begin; i < end; ++i)
    taps = std::max(taps, place(in, i, scale, support).count);
  taps = round_up(taps, granularity);
  first.resize(end - begin);
  weights.assign((end - begin) * taps, 0);
  pairs.resize((end - begin) * taps / 2);
  std::vector<double> exact(widest);
  for (std::size_t i = 0; i < first.size(); ++i) {
    const auto at = place(in, begin + i, scale, support);
    weigh(at, 1.0 / support, exact);
    // Where there is room, padding goes in front rather than behind the last input.
    first[i] = std::min(at.first, in > taps ? in - taps : 0);
    auto* own = weights.data() + i * taps;
    for (std::size_t t = 0; t < at.count; ++t)
      own[at.first - first[i] + t] = quantise(exact[t]);
    for (std::size_t t = 0; t < taps; t += 2)
      pairs[(i * taps + t) / 2] = split(own[t], own[t + 1]);
  }
}

void resample_axis::mirror() {
  std::reverse(first.begin(), first.end());
  const std::size_t n = first.size();
  for (std::size_t i = 0; i < n / 2; ++i) {
    std::swap_ranges(&weights[i * taps], &weights[i * taps] + taps, &weights[(n - 1 - i) * taps]);
    std::swap_ranges(&pairs[i * taps / 2], &pairs[i * taps / 2] + taps / 2,
                     &pairs[(n - 1 - i) * taps / 2]);
  }
}

std::size_t resample_axis::low() const noexcept {
  return std::min(first.front(), first.back());
}

std::size_t resample_axis::high(std::size_t in) const noexcept {
  return std::min(in, std::max(first.front(), first.back()) + taps);
}

resample_kernels plain_resample_kernels() noexcept {
  return {plain_rows, plain_column};
}

resample_kernels best_resample_kernels() noexcept {
  return has_avx2() ? avx2_resample_kernels() : plain_resample_kernels();
}

pixel_rect resampler::plan(const pixel_rect& source, const image_size& resized,
                           const pixel_rect& window, bool mirrored) {
  columns_.plan(source.width, resized.width, window.x, window.x + window.width, 4);
  rows_.plan(source.height, resized.height, window.y, window.y + window.height, 2);
  if (mirrored)
    columns_.mirror();
  origin_x_ = columns_.low();
  origin_y_ = rows_.low();
  const pixel_rect needed{source.x + origin_x_, source.y + origin_y_,
                          columns_.high(source.width) - origin_x_,
                          rows_.high(source.height) - origin_y_};
  // A kernel writes one byte behind the row; of an odd last pair, the second row is a spare.
  narrowed_stride_ = round_up(3 * columns_.first.size() + 1, resample_kernels::column_step);
  narrowed_.resize(std::max(narrowed_.size(), round_up(needed.height, 2) * narrowed_stride_));
  loaded_rows_ = 0;
  return needed;
}

void resampler::load(const rgb_view& rows) {
  auto* to = narrowed_.data() + loaded_rows_ * narrowed_stride_;
  for (std::size_t y = 0; y < rows.height; y += 2, to += 2 * narrowed_stride_) {
    const std::uint8_t* in[2] = {rows.row(y), rows.row(std::min(y + 1, rows.height - 1))};
    std::uint8_t* const out[2] = {to, to + narrowed_stride_};
    kernels_.rows(columns_, origin_x_, in, out);
  }
  loaded_rows_ += rows.height;
}

std::span<const std::uint8_t> resampler::row(std::size_t y) {
  row_taps_.resize(rows_.taps);
  row_.resize(narrowed_stride_);
  for (std::size_t t = 0; t < rows_.taps; ++t) {
    // Behind the last row weights are zero.
    const auto at = std::min(rows_.first[y] - origin_y_ + t, loaded_rows_ - 1);
    row_taps_[t] = narrowed_.data() + at * narrowed_stride_;
  }
  kernels_.column(rows_, y, row_taps_.data(), narrowed_stride_, row_.data());
  return {row_.data(), 3 * columns_.first.size()};
}

} // namespace leat
