#pragma once

#include "runtime/image/device/device_image.hpp"
#include "runtime/image/device/on_both.hpp"
#include "runtime/image/device/pixel_values.hpp"

#include <cstddef>
#include <cstdint>

namespace leat {

// Places are numbers of 32 bits, which is what a device computes with: a group has 4 GiB at most.
// NOLINTBEGIN(bugprone-implicit-widening-of-multiplication-result)

// Planes of samples to pixels: columns first, then rows, with whole numbers.

LEAT_ON_BOTH inline int saturated_16(int x) {
  return x < -32768 ? -32768 : x > 32767 ? 32767 : x;
}

LEAT_ON_BOTH constexpr std::uint32_t pieces_of(std::uint32_t all, std::uint32_t piece) {
  return (all + piece - 1) / piece;
}

/// One column of a tile of narrowed rows, for each thread.
LEAT_ON_BOTH inline void narrow_column(const device_group& group, const device_tile& tile,
                                       std::uint32_t thread) {
  constexpr std::uint32_t most_rows = device_tiles::rows;
  const device_image& image = group.images[tile.image];
  const device_component& component = image.components[tile.part];
  const std::uint32_t across = pieces_of(image.pixels.width, device_tiles::columns);
  const std::uint32_t x = tile.number % across * device_tiles::columns + thread;
  const std::uint32_t first = tile.number / across * most_rows;
  if (x >= image.pixels.width)
    return;
  const device_axis& axis = image.axes[component.columns_axis];
  const device_span inputs = group.spans[axis.spans + x];
  const std::int16_t* weights = group.weights + axis.weights + x * axis.taps;
  const std::uint32_t from_stride = component.columns * component.each;
  const std::uint8_t* from = group.samples + component.first_sample
                             + (component.first_row + first - component.top) * from_stride
                             + (inputs.first - component.left);
  const std::uint32_t to_stride = image.pixels.stride;
  std::int16_t* to = group.narrowed + component.first_narrowed + first * to_stride + x;
  const std::uint32_t rows = component.num_rows - first;
  if (rows >= most_rows) {
    int sums[most_rows];
    LEAT_UNROLL
    for (std::uint32_t r = 0; r < most_rows; ++r)
      sums[r] = 1 << 6;
    for (std::uint32_t t = 0; t < inputs.count; ++t) {
      const int weight = weights[t];
      LEAT_UNROLL
      for (std::uint32_t r = 0; r < most_rows; ++r)
        sums[r] += from[r * from_stride + t] * weight;
    }
    LEAT_UNROLL
    for (std::uint32_t r = 0; r < most_rows; ++r)
      to[r * to_stride] = static_cast<std::int16_t>(saturated_16(sums[r] >> 7));
    return;
  }
  for (std::uint32_t r = 0; r < rows; ++r) {
    int sum = 1 << 6;
    for (std::uint32_t t = 0; t < inputs.count; ++t)
      sum += from[r * from_stride + t] * weights[t];
    to[r * to_stride] = static_cast<std::int16_t>(saturated_16(sum >> 7));
  }
}

/// Four neighbours of a narrowed row, loaded at once.
struct alignas(8) four_narrowed {
  std::int16_t x[4];
};

/// Elements that are stored at once where they lie so that this can be.
template <class Element>
struct alignas(4 * sizeof(Element)) four_elements {
  Element x[4];
};

/// Writes four elements side by side, or fewer.
template <class Element>
LEAT_ON_BOTH inline void store_some(const Element* x, std::uint32_t many, std::byte* to) {
  using four = four_elements<Element>;
  auto* elements = reinterpret_cast<Element*>(to);
  if (many == 4 && reinterpret_cast<std::size_t>(to) % sizeof(four) == 0) {
    *reinterpret_cast<four*>(elements) = {{x[0], x[1], x[2], x[3]}};
    return;
  }
  LEAT_UNROLL
  for (std::uint32_t i = 0; i < 4; ++i)
    if (i < many)
      elements[i] = x[i];
}

/// Writes `many` pixels of a row, from column x on: `rgb[c][i]` of each.
template <class Convert>
LEAT_ON_BOTH inline void store_pixels(const device_pixels& form, std::uint32_t x, std::uint32_t y,
                                      std::uint32_t many, const int (&rgb)[3][4]) {
  using element = typename Convert::element;
  element values[3][4];
  LEAT_UNROLL
  for (std::uint32_t c = 0; c < 3; ++c) {
    LEAT_UNROLL
    for (std::uint32_t i = 0; i < 4; ++i) {
      const bool is_erased =
          y - form.erased_y < form.erased_height && x + i - form.erased_x < form.erased_width;
      values[c][i] = is_erased ? static_cast<element>(form.erased[c])
                               : Convert::of(rgb[c][i], form.scale[c], form.offset[c]);
    }
  }
  const std::size_t at = static_cast<std::size_t>(y) * form.width + x;
  const std::size_t plane = static_cast<std::size_t>(form.width) * form.height;
  if (form.planes != 0) {
    LEAT_UNROLL
    for (std::uint32_t c = 0; c < 3; ++c)
      store_some(values[c], many, form.to + (c * plane + at) * sizeof(element));
    return;
  }
  LEAT_UNROLL
  for (std::uint32_t part = 0; part < 3; ++part) {
    element in_turns[4];
    LEAT_UNROLL
    for (std::uint32_t i = 0; i < 4; ++i)
      in_turns[i] = values[(4 * part + i) % 3][(4 * part + i) / 3];
    const std::uint32_t all = 3 * many;
    const std::uint32_t left = all > 4 * part ? all - 4 * part : 0;
    store_some(in_turns, left < 4 ? left : 4, form.to + (3 * at + 4 * part) * sizeof(element));
  }
}

/// Four pixels of a row, for each thread of a tile.
LEAT_ON_BOTH inline void write_pixels(const device_group& group, const device_tile& tile,
                                      std::uint32_t thread) {
  constexpr std::uint32_t threads_a_row = device_tiles::columns / device_tiles::pixels;
  const device_image& image = group.images[tile.image];
  const device_pixels& form = image.pixels;
  const std::uint32_t across = pieces_of(form.width, device_tiles::columns);
  const std::uint32_t x =
      tile.number % across * device_tiles::columns + thread % threads_a_row * device_tiles::pixels;
  const std::uint32_t y = tile.number / across * device_tiles::pixel_rows + thread / threads_a_row;
  if (x >= form.width || y >= form.height || form.to == nullptr)
    return;
  int rgb[3][4];
  int values[4][3];
  LEAT_UNROLL
  for (std::uint32_t c = 0; c < 3; ++c) {
    if (c >= image.num_components)
      continue;
    const device_component& component = image.components[c];
    const device_axis& axis = image.axes[component.rows_axis];
    const device_span inputs = group.spans[axis.spans + y];
    const std::int16_t* weights = group.weights + axis.weights + y * axis.taps;
    const std::int16_t* from = group.narrowed + component.first_narrowed
                               + (inputs.first - component.first_row) * form.stride + x;
    int sums[4]{1 << 14, 1 << 14, 1 << 14, 1 << 14};
    for (std::uint32_t t = 0; t < inputs.count; ++t) {
      const auto four = *reinterpret_cast<const four_narrowed*>(from + t * form.stride);
      const int weight = weights[t];
      LEAT_UNROLL
      for (std::uint32_t i = 0; i < 4; ++i)
        sums[i] += four.x[i] * weight;
    }
    LEAT_UNROLL
    for (std::uint32_t i = 0; i < 4; ++i)
      values[i][c] = saturated_16(sums[i] >> 15);
  }
  LEAT_UNROLL
  for (std::uint32_t i = 0; i < 4; ++i) {
    int one[3];
    pixel_values::to_colours(form.colours, values[i], one);
    LEAT_UNROLL
    for (std::uint32_t c = 0; c < 3; ++c)
      rgb[c][i] = one[c];
  }
  const std::uint32_t left = form.width - x;
  const std::uint32_t many = left < 4 ? left : 4;
  switch (form.type) {
  case device_element::u8:
    return store_pixels<to_u8_element>(form, x, y, many, rgb);
  case device_element::f16:
    return store_pixels<to_f16_element>(form, x, y, many, rgb);
  case device_element::bf16:
    return store_pixels<to_bf16_element>(form, x, y, many, rgb);
  default:
    return store_pixels<to_f32_element>(form, x, y, many, rgb);
  }
}

// NOLINTEND(bugprone-implicit-widening-of-multiplication-result)

} // namespace leat
