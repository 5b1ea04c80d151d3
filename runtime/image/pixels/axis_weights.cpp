#include "runtime/image/pixels/axis_weights.hpp"

#include <algorithm>
#include <cmath>

namespace leat {

namespace {

/// Inputs of one output, and where its triangle stands.
struct triangle {
  double centre;
  std::size_t first;
  std::size_t count;
};

// Pillow rounds by adding 0.5 and cutting; lround would differ.
// NOLINTBEGIN(bugprone-incorrect-roundings)
triangle place(const axis_cut& cut, std::size_t output, double support) {
  const double centre = cut.origin + (static_cast<double>(output) + 0.5) * cut.scale;
  const auto first = static_cast<std::size_t>(std::max(0.0, centre - support + 0.5));
  const auto last =
      std::min(cut.inputs, static_cast<std::size_t>(std::max(0.0, centre + support + 0.5)));
  // Rounding may leave nothing at the end of an input that is cut to a fraction.
  if (last <= first)
    return {centre, cut.inputs - 1, 1};
  return {centre, first, last - first};
}
// NOLINTEND(bugprone-incorrect-roundings)

void weigh(const triangle& at, double support, double* weights) {
  const double inverse = 1.0 / support;
  double sum = 0;
  for (std::size_t t = 0; t < at.count; ++t) {
    const double distance = (static_cast<double>(t + at.first) - at.centre + 0.5) * inverse;
    weights[t] = std::max(0.0, 1.0 - std::abs(distance));
    sum += weights[t];
  }
  if (sum == 0) {
    weights[0] = 1;
    return;
  }
  for (std::size_t t = 0; t < at.count; ++t)
    weights[t] /= sum;
}

axis_cut cut(std::size_t begin, std::size_t inputs, std::size_t resized, std::size_t first,
             std::size_t outputs, bool mirrored) {
  return {.begin = begin,
          .inputs = inputs,
          .scale = static_cast<double>(inputs) / static_cast<double>(resized),
          .first_output = first,
          .outputs = outputs,
          .mirrored = mirrored};
}

template <class Weights>
std::size_t lowest(const Weights& x) noexcept {
  return *std::min_element(x.first.begin(), x.first.end());
}

template <class Weights>
std::size_t highest(const Weights& x) noexcept {
  std::size_t high = 0;
  for (std::size_t i = 0; i < x.first.size(); ++i)
    high = std::max(high, x.first[i] + x.count[i]);
  return high;
}

} // namespace

axis_cut cut_across(const resize_plan& what) {
  return cut(what.source.x, what.source.width, what.resized.width, what.window.x, what.window.width,
             what.mirrored);
}

axis_cut cut_down(const resize_plan& what) {
  return cut(what.source.y, what.source.height, what.resized.height, what.window.y,
             what.window.height, false);
}

std::size_t axis_weights::low() const noexcept {
  return lowest(*this);
}

std::size_t axis_weights::high() const noexcept {
  return highest(*this);
}

void axis_weights::resize(std::size_t outputs, std::size_t most_taps) {
  taps = most_taps;
  first.resize(outputs);
  count.resize(outputs);
  weights.assign(outputs * taps, 0);
}

void axis_weights::plan(const axis_cut& cut) {
  const double support = std::max(1.0, cut.scale);
  resize(cut.outputs, static_cast<std::size_t>(std::ceil(support)) * 2 + 1);
  for (std::size_t i = 0; i < cut.outputs; ++i) {
    const auto at = place(cut, cut.first_output + i, support);
    const auto to = cut.mirrored ? cut.outputs - 1 - i : i;
    weigh(at, support, weights.data() + to * taps);
    first[to] = cut.begin + at.first;
    count[to] = at.count;
  }
}

void axis_weights::fold(const axis_weights& full, std::size_t ratio, bool smooth,
                        std::size_t samples) {
  resize(full.outputs(), full.taps / ratio + 3);
  for (std::size_t i = 0; i < full.outputs(); ++i) {
    const auto begin = full.first[i];
    const auto end = begin + full.count[i];
    auto sample_of = [&](std::size_t input) { return std::min(input / ratio, samples - 1); };
    // The other sample that an input is made of: the neighbour on the side where it lies.
    auto other_of = [&](std::size_t input) {
      const auto nearer = sample_of(input);
      return input % 2 == 0 ? nearer - std::min<std::size_t>(nearer, 1)
                            : std::min(nearer + 1, samples - 1);
    };
    first[i] = smooth ? other_of(begin - begin % 2) : sample_of(begin);
    if (smooth && begin % 2 != 0)
      first[i] = sample_of(begin);
    double* to = weights.data() + i * taps - first[i];
    for (auto input = begin; input < end; ++input) {
      const double weight = full.at(i)[input - begin];
      if (smooth) {
        to[sample_of(input)] += 0.75 * weight;
        to[other_of(input)] += 0.25 * weight;
      } else {
        to[sample_of(input)] += weight;
      }
    }
    const auto last = smooth && (end - 1) % 2 != 0 ? other_of(end - 1) : sample_of(end - 1);
    count[i] = last + 1 - first[i];
  }
}

void axis_weights::fold_means(const axis_weights& full, std::size_t each, std::size_t means) {
  resize(full.outputs(), full.taps / each + 4);
  const auto width = static_cast<double>(each);
  // The mean of the squares of the places in an interval of width 1 around 0.
  const double mean_square = (1 - 1 / (width * width)) / 12;
  for (std::size_t i = 0; i < full.outputs(); ++i) {
    auto mean_of = [&](std::size_t input) { return std::min(input / each, means - 1); };
    auto before = [](std::size_t mean) { return mean - std::min<std::size_t>(mean, 1); };
    auto behind = [&](std::size_t mean) { return std::min(mean + 1, means - 1); };
    const auto begin = full.first[i];
    const auto end = begin + full.count[i];
    first[i] = before(mean_of(begin));
    count[i] = behind(mean_of(end - 1)) + 1 - first[i];
    double* to = weights.data() + i * taps - first[i];
    for (auto input = begin; input < end; ++input) {
      const double weight = full.at(i)[input - begin];
      const auto mean = mean_of(input);
      const double at = (static_cast<double>(input - mean * each) + 0.5) / width - 0.5;
      const double bend = (at * at - mean_square) / 2;
      to[mean] += (1 - 2 * bend) * weight;
      to[before(mean)] += (bend - at / 2) * weight;
      to[behind(mean)] += (bend + at / 2) * weight;
    }
  }
}

std::size_t fixed_weights::low() const noexcept {
  return lowest(*this);
}

std::size_t fixed_weights::high() const noexcept {
  return highest(*this);
}

void fixed_weights::assign(const axis_weights& exact) {
  constexpr int one = 1 << bits;
  taps = exact.taps;
  first.resize(exact.outputs());
  count.resize(exact.outputs());
  weights.assign(exact.outputs() * taps, 0);
  for (std::size_t i = 0; i < exact.outputs(); ++i) {
    auto* to = weights.data() + i * taps;
    int sum = 0;
    std::size_t highest_at = 0;
    for (std::size_t t = 0; t < exact.count[i]; ++t) {
      const int weight = static_cast<int>(std::floor(exact.at(i)[t] * one + 0.5));
      to[t] = static_cast<std::int16_t>(weight);
      sum += weight;
      if (to[t] > to[highest_at])
        highest_at = t;
    }
    to[highest_at] = static_cast<std::int16_t>(to[highest_at] + one - sum);
    std::size_t begin = 0;
    auto end = exact.count[i];
    while (to[begin] == 0)
      ++begin;
    while (to[end - 1] == 0)
      --end;
    std::move(to + begin, to + end, to);
    std::fill(to + (end - begin), to + taps, std::int16_t{0});
    first[i] = exact.first[i] + begin;
    count[i] = end - begin;
  }
}

} // namespace leat
