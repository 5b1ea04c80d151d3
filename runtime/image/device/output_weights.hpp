#pragma once

#include "runtime/image/device/device_image.hpp"
#include "runtime/image/device/on_both.hpp"

#include <cstddef>
#include <cstdint>

namespace leat {

/// The weights of one output of an axis: what axis_weights::plan, fold and fold_means and then
/// fixed_weights::assign make, by the same additions in the same order. A thread has no room for a
/// list of numbers, so each is made when it is needed. Without contraction, with IEEE's division.
class output_weights {
public:
  LEAT_ON_BOTH output_weights(const device_axis& axis, std::uint32_t output) : axis_(axis) {
    const double support = axis.scale > 1.0 ? axis.scale : 1.0;
    const std::uint32_t number =
        axis.first_output + (axis.mirrored != 0 ? axis.outputs - 1 - output : output);
    centre_ = (static_cast<double>(number) + 0.5) * axis.scale;
    inverse_ = 1.0 / support;
    place(support);
    for (std::uint32_t t = 0; t < pixels_.count; ++t)
      sum_ += height(t);
    pixels_.first += axis.begin;
    samples_ = axis.ratio > 1 ? enlarged() : pixels_;
    inputs_ = axis.each > 1 ? reduced() : samples_;
  }

  /// The inputs that have a weight, which may be 0.
  LEAT_ON_BOTH device_span inputs() const { return inputs_; }

  /// Writes whole weights, multiples of 2^-14 that add up to 1, without zeros at both ends. Returns
  /// the inputs they are for.
  LEAT_ON_BOTH device_span write(std::int16_t* to) const {
    constexpr int one = 1 << 14;
    int sum = 0;
    std::uint32_t highest = 0;
    for (std::uint32_t t = 0; t < inputs_.count; ++t) {
      const int weight = floor_of(weight_of(inputs_.first + t) * one + 0.5);
      to[t] = static_cast<std::int16_t>(weight);
      sum += weight;
      if (to[t] > to[highest])
        highest = t;
    }
    to[highest] = static_cast<std::int16_t>(to[highest] + one - sum);
    std::uint32_t begin = 0;
    std::uint32_t end = inputs_.count;
    while (to[begin] == 0)
      ++begin;
    while (to[end - 1] == 0)
      --end;
    for (std::uint32_t t = begin; begin > 0 && t < end; ++t)
      to[t - begin] = to[t];
    return {inputs_.first + begin, end - begin};
  }

private:
  LEAT_ON_BOTH static std::uint32_t cut(double x) {
    return static_cast<std::uint32_t>(x > 0.0 ? x : 0.0);
  }
  LEAT_ON_BOTH static int floor_of(double x) {
    const int whole = static_cast<int>(x);
    return whole - (x < whole ? 1 : 0);
  }
  LEAT_ON_BOTH static std::uint32_t less(std::uint32_t a, std::uint32_t b) { return a < b ? a : b; }

  // -- pixels: a triangle

  LEAT_ON_BOTH void place(double support) {
    const std::uint32_t first = cut(centre_ - support + 0.5);
    const std::uint32_t last = less(axis_.inputs, cut(centre_ + support + 0.5));
    // Rounding may leave nothing at the end of an input that is cut to a fraction.
    pixels_ = last <= first ? device_span{axis_.inputs - 1, 1} : device_span{first, last - first};
    first_ = pixels_.first;
  }
  LEAT_ON_BOTH double height(std::uint32_t t) const {
    const double distance = (static_cast<double>(t + first_) - centre_ + 0.5) * inverse_;
    const double height = 1.0 - (distance < 0 ? -distance : distance);
    return height > 0.0 ? height : 0.0;
  }
  LEAT_ON_BOTH double weight_of_pixel(std::uint32_t pixel) const {
    const std::uint32_t t = pixel - pixels_.first;
    if (sum_ == 0)
      return t == 0 ? 1.0 : 0.0;
    return height(t) / sum_;
  }

  // -- samples that stand for several pixels

  LEAT_ON_BOTH std::uint32_t sample_of(std::uint32_t pixel) const {
    return less(pixel / axis_.ratio, axis_.samples - 1);
  }
  /// The other sample that a pixel is made of: the neighbour on the side where it lies.
  LEAT_ON_BOTH std::uint32_t other_of(std::uint32_t pixel) const {
    const std::uint32_t nearer = sample_of(pixel);
    return pixel % 2 == 0 ? nearer - less(nearer, 1) : less(nearer + 1, axis_.samples - 1);
  }
  LEAT_ON_BOTH device_span enlarged() const {
    const std::uint32_t begin = pixels_.first;
    const std::uint32_t last = begin + pixels_.count - 1;
    const bool is_smooth = axis_.smooth != 0;
    const std::uint32_t first = is_smooth && begin % 2 == 0 ? other_of(begin) : sample_of(begin);
    const std::uint32_t end = is_smooth && last % 2 != 0 ? other_of(last) : sample_of(last);
    return {first, end + 1 - first};
  }
  LEAT_ON_BOTH double weight_of_sample(std::uint32_t sample) const {
    if (axis_.ratio == 1)
      return weight_of_pixel(sample);
    // Pixels that may be made of it. The last sample has all that are beyond.
    const std::uint32_t low = sample * axis_.ratio;
    const bool is_last = sample == axis_.samples - 1;
    const std::uint32_t after = pixels_.first + pixels_.count;
    const std::uint32_t end = is_last ? after : less(after, low + axis_.ratio + 1);
    double sum = 0;
    for (std::uint32_t i = low - less(low, 1); i < end; ++i) {
      if (i < pixels_.first)
        continue;
      const double weight = weight_of_pixel(i);
      if (axis_.smooth != 0) {
        if (sample_of(i) == sample)
          sum += 0.75 * weight;
        if (other_of(i) == sample)
          sum += 0.25 * weight;
      } else if (sample_of(i) == sample) {
        sum += weight;
      }
    }
    return sum;
  }

  // -- means of samples, which lie on a parabola

  LEAT_ON_BOTH std::uint32_t means() const { return (axis_.samples + axis_.each - 1) / axis_.each; }
  LEAT_ON_BOTH std::uint32_t mean_of(std::uint32_t sample) const {
    return less(sample / axis_.each, means() - 1);
  }
  LEAT_ON_BOTH std::uint32_t after_mean(std::uint32_t mean) const {
    return less(mean + 1, means() - 1);
  }
  LEAT_ON_BOTH device_span reduced() const {
    const std::uint32_t low = mean_of(samples_.first);
    const std::uint32_t first = low - less(low, 1);
    return {first, after_mean(mean_of(samples_.first + samples_.count - 1)) + 1 - first};
  }
  LEAT_ON_BOTH double weight_of(std::uint32_t input) const {
    if (axis_.each == 1)
      return weight_of_sample(input);
    const double width = static_cast<double>(axis_.each);
    const double mean_square = (1 - 1 / (width * width)) / 12;
    const std::uint32_t low = (input - less(input, 1)) * axis_.each;
    const bool is_last = input == means() - 1;
    const std::uint32_t after = samples_.first + samples_.count;
    const std::uint32_t end = is_last ? after : less(after, (input + 2) * axis_.each);
    double sum = 0;
    for (std::uint32_t i = low < samples_.first ? samples_.first : low; i < end; ++i) {
      const double weight = weight_of_sample(i);
      const std::uint32_t mean = mean_of(i);
      const double at = (static_cast<double>(i - mean * axis_.each) + 0.5) / width - 0.5;
      const double bend = (at * at - mean_square) / 2;
      if (mean == input)
        sum += (1 - 2 * bend) * weight;
      if (mean - less(mean, 1) == input)
        sum += (bend - at / 2) * weight;
      if (after_mean(mean) == input)
        sum += (bend + at / 2) * weight;
    }
    return sum;
  }

  const device_axis& axis_;
  double centre_ = 0;
  double inverse_ = 1;
  double sum_ = 0;
  /// In the axis's inputs, until `begin` is added.
  device_span pixels_{};
  std::uint32_t first_ = 0;
  device_span samples_{};
  device_span inputs_{};
};

} // namespace leat
