#pragma once

#include "runtime/image/jpeg/jpeg_frame.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace leat {

/// One step of entropy decoding. One word: a decoder loads it at once.
class huffman_step {
public:
  constexpr huffman_step() = default;
  constexpr huffman_step(int length, int run, int value) noexcept
      : word_(static_cast<std::uint32_t>(length) | static_cast<std::uint32_t>(run) << 8
              | static_cast<std::uint32_t>(value) << 16) {}

  /// Bits of code and value; `unknown` set: the table does not know.
  constexpr int length() const noexcept { return static_cast<int>(word_ & 0xFF); }
  /// Coefficients passed over: 0 to 15, or one of `ac_table`'s.
  constexpr int run() const noexcept { return static_cast<int>(word_ >> 8 & 0xFF); }
  /// In a table of values: the coefficient.
  constexpr int value() const noexcept { return static_cast<std::int32_t>(word_) >> 16; }
  /// In a table of codes: bits of the value that follows, and of the code.
  constexpr int value_bits() const noexcept { return static_cast<int>(word_ >> 16 & 0xFF); }
  constexpr int code_bits() const noexcept { return static_cast<int>(word_ >> 24); }

  static constexpr int unknown = 0x80;

private:
  std::uint32_t word_ = unknown;
};

/// What a code means, found by its first bits. Common parts of tables for DC and AC.
struct huffman_lookup {
  static constexpr int bits = 10;

  /// By the next `bits` bits; unknown: a longer code.
  std::array<huffman_step, std::size_t{1} << bits> codes;
  // For longer codes, by length: the highest code (-1: none), and where its symbols begin.
  std::array<std::int32_t, 17> highest;
  std::array<std::int32_t, 17> offset;
  std::array<std::uint8_t, 256> symbols;
};

/// For DC coefficients, whose symbol is the number of bits of the difference.
struct dc_table {
  huffman_lookup lookup;

  /// False where libjpeg refuses the code.
  bool build(const huffman_code& code);
};

/// For AC coefficients, whose symbol is a run and the number of bits of the value.
struct ac_table {
  /// End of the block, as a run.
  static constexpr int end_of_block = 128;
  /// A code that no symbol has, as a run.
  static constexpr int no_code = 192;
  static constexpr int value_bits = 11;
  static constexpr int skip_bits = huffman_lookup::bits;
  /// Bits of a step of `skips`: three fit what a decoder has at hand.
  static constexpr int longest_skip = 18;
  static constexpr int ends_block = 1;

  huffman_lookup lookup;
  /// Code and value that fit `value_bits` bits together.
  std::array<huffman_step, std::size_t{1} << value_bits> values;
  /// Several symbols at once, for blocks of which only the length matters: bits of all (unknown:
  /// not even one fits), coefficients passed over with those that have a value, `ends_block`.
  std::array<huffman_step, std::size_t{1} << skip_bits> skips;

  /// False where libjpeg refuses the code.
  bool build(const huffman_code& code);
};

} // namespace leat
