#pragma once

#include "runtime/image/device/device_image.hpp"
#include "runtime/image/device/on_both.hpp"

#include <cstdint>

namespace leat {

// Tables of an image's Huffman codes. An entry has 16 bits: those of code and value together, those
// of the value, and by how much the number of the coefficient advances. A table's first 1,024
// entries are found by the next 10 bits, those of longer codes by 16.

/// What an entry says by how much it advances.
inline constexpr std::uint32_t end_of_block_advance = 64;
inline constexpr std::uint32_t no_code_advance = 127;

/// What block of an MCU is decoded, and where its coefficients go.
struct device_block {
  /// That of the part's first MCU.
  std::uint32_t first;
  /// Blocks to that of the next MCU row.
  std::uint32_t row;
  /// Blocks to that of the next MCU.
  std::uint16_t across;
  std::uint8_t component;
  std::uint8_t dc;
  std::uint8_t ac;
};

struct device_tables {
  static constexpr std::uint32_t first_bits = 10;
  static constexpr std::uint32_t short_entries = 1U << first_bits;
  /// Room for entries of longer codes.
  static constexpr std::uint32_t long_dc = 128;
  static constexpr std::uint32_t long_ac = 1024;
  static constexpr std::uint32_t dc_entries = short_entries + long_dc;
  static constexpr std::uint32_t ac_entries = short_entries + long_ac;
  static constexpr std::uint32_t most_blocks = 10;

  /// DC 0, DC 1, AC 0, AC 1.
  std::uint16_t entries[2 * (dc_entries + ac_entries)];
  /// Of each of these: the first 16-bit number above all short codes, and above all codes.
  struct {
    std::uint32_t of_short;
    std::uint32_t of_all;
  } limits[4];
  device_block blocks[most_blocks];
  std::uint32_t num_blocks;

  LEAT_ON_BOTH static constexpr std::uint32_t first_entry(std::uint32_t table) {
    return table < 2 ? table * dc_entries : 2 * dc_entries + (table - 2) * ac_entries;
  }
};

/// Entries for codes of more than 10 bits, and one for what is no code.
LEAT_ON_BOTH inline std::uint32_t long_entries(const device_huffman& x) {
  return x.limit[16] - x.limit[device_tables::first_bits] + 1;
}

/// The entry for the next 16 bits. As libjpeg reads a symbol for AC: without a value, all but a run
/// of 15 end the block.
LEAT_ON_BOTH inline std::uint16_t huffman_entry(const device_huffman& x, std::uint32_t bits) {
  auto entry = [](std::uint32_t all_bits, std::uint32_t value_bits, std::uint32_t advance) {
    return static_cast<std::uint16_t>(all_bits | value_bits << 5 | advance << 9);
  };
  std::uint32_t length = 1;
  while (length <= 16 && bits >= x.limit[length])
    ++length;
  if (length > 16)
    return entry(16, 0, no_code_advance);
  const std::uint32_t number = x.base[length] + ((bits - x.limit[length - 1]) >> (16 - length));
  const std::uint32_t symbol = x.symbols[number & 0xFF];
  const std::uint32_t size = symbol & 15;
  if (x.is_ac == 0)
    return entry(length + size, size, 1);
  const std::uint32_t run = symbol >> 4;
  if (size == 0 && run != 15)
    return entry(length, 0, end_of_block_advance);
  return entry(length + size, size, run + 1);
}

/// A thread's share of the entries of table number `table`.
LEAT_ON_BOTH inline void make_entries(const device_huffman& x, std::uint32_t table,
                                      std::uint32_t thread, std::uint32_t threads,
                                      device_tables& to) {
  constexpr std::uint32_t first_bits = device_tables::first_bits;
  constexpr std::uint32_t shorts = device_tables::short_entries;
  const std::uint32_t cut = x.limit[first_bits];
  const std::uint32_t many = shorts + long_entries(x);
  std::uint16_t* entries = to.entries + device_tables::first_entry(table);
  for (std::uint32_t i = thread; i < many; i += threads)
    entries[i] = huffman_entry(x, i < shorts ? i << (16 - first_bits) : cut + (i - shorts));
  if (thread == 0)
    to.limits[table] = {cut, x.limit[16]};
}

/// Block `number` of an MCU, for as many threads as there may be blocks.
LEAT_ON_BOTH inline void make_block(const device_image& x, std::uint32_t number,
                                    device_tables& to) {
  std::uint32_t first = 0; // of the component
  for (std::uint32_t c = 0; c < x.num_components; ++c) {
    const device_component& from = x.components[c];
    const std::uint32_t many = from.across * from.down;
    if (number >= first && number < first + many) {
      const std::uint32_t row = (number - first) / from.across;
      const std::uint32_t column = (number - first) % from.across;
      to.blocks[number] = {from.first_block + row * from.columns + column,
                           from.down * from.columns,
                           static_cast<std::uint16_t>(from.across),
                           static_cast<std::uint8_t>(c),
                           static_cast<std::uint8_t>(from.dc),
                           static_cast<std::uint8_t>(from.ac)};
    }
    first += many;
  }
  if (number == 0)
    to.num_blocks = first;
}

} // namespace leat
