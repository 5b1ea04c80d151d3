#pragma once

#include <cstddef>
#include <cstdint>

namespace leat {

// What kernels read: plain structs without pointers of the host, the same for all compilers.
// Numbers that say where something begins count elements from the beginning of the group's array.

/// A Huffman code, ordered for decoding.
struct device_huffman {
  /// By the bits of a code: the first 16-bit number above all codes of at most so many bits.
  std::uint32_t limit[17];
  /// Where the symbols of the codes of so many bits begin.
  std::uint32_t base[17];
  std::uint8_t symbols[256];
  std::uint32_t is_ac;
};

/// How outputs of one axis are made of a plane's samples: leat::axis_weights and fixed_weights.
struct device_axis {
  double scale;
  /// In pixels.
  std::uint32_t begin;
  std::uint32_t inputs;
  std::uint32_t first_output;
  std::uint32_t outputs;
  std::uint32_t mirrored;
  /// Of the plane: pixels for a sample, and how it is enlarged.
  std::uint32_t ratio;
  std::uint32_t smooth;
  std::uint32_t samples;
  /// Samples of which only the mean is known; 1: each is known.
  std::uint32_t each;
  /// Weights of an output, at most, and where those of the first one begin.
  std::uint32_t taps;
  std::uint32_t weights;
  /// Where the group's `device_group::spans` has the first output's.
  std::uint32_t spans;
};

/// The part of a component that is decoded.
struct device_component {
  /// Blocks of an MCU.
  std::uint32_t across;
  std::uint32_t down;
  /// Tables: 0 or 1.
  std::uint32_t dc;
  std::uint32_t ac;
  /// Its axes: of columns, and of rows.
  std::uint32_t columns_axis;
  std::uint32_t rows_axis;
  /// Blocks of the part.
  std::uint32_t first_block;
  std::uint32_t columns;
  std::uint32_t rows;
  /// Samples that a block becomes, each way.
  std::uint32_t each;
  /// Its plane: rows of columns * each samples.
  std::uint32_t first_sample;
  /// Column and row of the file's plane that come first in the part.
  std::uint32_t left;
  std::uint32_t top;
  /// The rows of the file's plane that are narrowed, and where they go.
  std::uint32_t first_row;
  std::uint32_t num_rows;
  std::uint32_t first_narrowed;
  std::uint16_t quantisation[64];
};

enum class device_colours : std::uint32_t { gray, ycc, rgb };
enum class device_element : std::uint32_t { u8, f16, bf16, f32 };

/// What becomes of the sums: the tensor of one image.
struct device_pixels {
  /// Null: nothing is written.
  std::byte* to;
  std::uint32_t width;
  std::uint32_t height;
  /// Elements from one narrowed row to the next.
  std::uint32_t stride;
  device_colours colours;
  device_element type;
  std::uint32_t planes; // else channels in turns
  float scale[3];
  float offset[3];
  /// A part that is written with these bits instead.
  std::uint32_t erased_x;
  std::uint32_t erased_y;
  std::uint32_t erased_width;
  std::uint32_t erased_height;
  std::uint32_t erased[3];
};

enum class device_adjustment : std::uint32_t { brightness, contrast, saturation, hue };

/// Colours that are adjusted between the floats that `device_pixels` makes and the tensor:
/// leat::adjust_color.
struct device_jitter {
  /// Whether there are such floats at all; then their first one.
  std::uint32_t is_used;
  std::uint32_t first_float;
  std::uint32_t num_steps;
  /// Before so many steps the mean gray is needed; num_steps: never.
  std::uint32_t contrast;
  device_adjustment steps[4];
  /// Of a value, or of a turn; and of what is added to it.
  float shares[4];
  float rests[4];
  double mean[3];
  double deviation[3];
  /// The tensor.
  device_pixels pixels;
};

struct device_image {
  static constexpr std::uint32_t most_components = 3;
  static constexpr std::uint32_t most_axes = 2 * most_components;

  std::uint32_t num_components;
  /// The part that is decoded, in MCUs.
  std::uint32_t x;
  std::uint32_t y;
  std::uint32_t width;
  std::uint32_t height;
  device_component components[most_components];
  /// Of columns, and then of rows; some have no outputs.
  device_axis axes[most_axes];
  /// DC 0, DC 1, AC 0, AC 1.
  device_huffman codes[4];
  device_pixels pixels;
  device_jitter jitter;
};

/// MCUs of one row that a thread decodes.
struct device_stretch {
  std::uint32_t image;
  /// Coded bytes, from `bit` of the first one.
  std::uint32_t from;
  std::uint32_t to;
  /// The byte in which the next stretch begins; where there is none, `to`.
  std::uint32_t next;
  /// Where its bytes go as words, without stuffing.
  std::uint32_t first_word;
  std::uint16_t x;
  std::uint16_t y;
  std::uint16_t mcus;
  std::uint8_t bit;
  std::uint8_t next_bit;
  /// Whether its end is known.
  std::uint16_t is_checked;
  std::int16_t dc[3];
  std::int16_t next_dc[3];
};

/// What the removal of stuffing finds: bits that a stretch has, and those up to the next one.
struct device_bits {
  std::uint32_t all;
  std::uint32_t expected;
};

/// What one block of a grid does: a piece of an image's component or axis.
struct device_tile {
  std::uint16_t image;
  std::uint16_t part;
  std::uint32_t number;
};

/// Inputs of one output, counted in the file's plane.
struct device_span {
  std::uint32_t first;
  std::uint32_t count;
};

struct device_tables; // huffman_entries.hpp

/// What all kernels are launched with. Pointers are the device's.
struct device_group {
  // Copied from the host.
  const std::uint8_t* bytes;
  const device_image* images;
  const device_stretch* stretches;
  const device_tile* axis_tiles;
  const device_tile* block_tiles;
  const device_tile* row_tiles;
  const device_tile* pixel_tiles;
  /// Images whose mean gray is needed.
  const device_tile* gray_tiles;
  const device_tile* colour_tiles;
  // Made by kernels.
  std::uint32_t* told;
  device_tables* tables;
  device_bits* bits;
  std::uint32_t* words;
  device_span* spans;
  std::int16_t* weights;
  std::int16_t* coefficients;
  std::uint8_t* samples;
  std::int16_t* narrowed;
  /// Planes of R, G, B from 0 to 1.
  float* floats;
  /// Mean grays.
  float* grays;

  std::uint32_t num_images;
  std::uint32_t num_stretches;
  std::uint32_t num_axis_tiles;
  std::uint32_t num_block_tiles;
  std::uint32_t num_row_tiles;
  std::uint32_t num_pixel_tiles;
  std::uint32_t num_gray_tiles;
  std::uint32_t num_colour_tiles;
  std::uint32_t num_blocks;
};

/// How large tiles are, and with them blocks of threads.
struct device_tiles {
  static constexpr std::uint32_t clearing = 256;
  static constexpr std::uint32_t tables = 256;
  /// Stretches whose stuffing is removed, a warp each.
  static constexpr std::uint32_t unstuffed = 8;
  /// Stretches that are decoded, a thread each.
  static constexpr std::uint32_t decoded = 64;
  /// Outputs of an axis, a thread each.
  static constexpr std::uint32_t axis = 128;
  /// Blocks of a component, a thread each.
  static constexpr std::uint32_t blocks = 128;
  /// Columns of narrowed rows, a thread each, and rows.
  static constexpr std::uint32_t columns = 224;
  static constexpr std::uint32_t rows = 16;
  /// Pixels, four of a row a thread.
  static constexpr std::uint32_t pixels = 4;
  static constexpr std::uint32_t pixel_rows = 4;
  static constexpr std::uint32_t pixel_threads = columns / pixels * pixel_rows;
  static constexpr std::uint32_t grays = 256;
  /// Pixels whose colours are adjusted, a thread each.
  static constexpr std::uint32_t colours = 256;
};

/// What `device_group::told` says of an image, as bits.
enum class device_finding : std::uint32_t {
  /// Its code, or where it ends.
  scan = 1,
  /// Coefficients so far out of range that the processor's pixels may be others.
  overflow = 2,
};

} // namespace leat
