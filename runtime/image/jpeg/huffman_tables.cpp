#include "runtime/image/jpeg/huffman_tables.hpp"

#include <algorithm>

namespace leat {

namespace {

/// Codes of one length are consecutive numbers; the first code of the next length follows the last
/// one, times two.
template <class Visit>
bool for_each_code(const huffman_code& code, Visit visit) {
  std::uint32_t next = 0;
  std::size_t symbol = 0;
  for (int length = 1; length <= 16; ++length, next <<= 1U)
    for (unsigned i = 0; i < code.counts[length]; ++i, ++next, ++symbol) {
      // The code of all ones is reserved, and libjpeg refuses what does not fit.
      if (symbol == 256 || next + 1 >= (std::uint32_t{1} << static_cast<unsigned>(length)))
        return false;
      visit(next, length, code.symbols[symbol], symbol);
    }
  return true;
}

huffman_step step_of(int code_bits, int run, int value_bits) {
  return {code_bits + value_bits, run, code_bits << 8 | value_bits};
}

/// As libjpeg reads a symbol: without value bits, all but a run of 15 end the block.
huffman_step ac_step(int code_bits, std::uint8_t symbol) {
  const int size = symbol & 15;
  const int run = symbol >> 4;
  if (size == 0 && run != 15)
    return step_of(code_bits, ac_table::end_of_block, 0);
  return step_of(code_bits, run, size);
}

template <class Step>
bool build_lookup(huffman_lookup& to, const huffman_code& code, Step step) {
  to.codes.fill(huffman_step{});
  to.highest.fill(-1);
  to.offset.fill(0);
  return for_each_code(
      code, [&](std::uint32_t bits, int length, std::uint8_t symbol, std::size_t number) {
        const auto at = static_cast<std::size_t>(length);
        to.symbols[number] = symbol;
        to.highest[at] = static_cast<std::int32_t>(bits);
        to.offset[at] = static_cast<std::int32_t>(number) - static_cast<std::int32_t>(bits);
        if (const int free = huffman_lookup::bits - length; free >= 0)
          std::fill_n(to.codes.begin() + (bits << static_cast<unsigned>(free)),
                      std::size_t{1} << free, step(length, symbol));
      });
}

/// The number that `size` bits stand for.
int value_of(std::uint32_t bits, int size) {
  if (size == 0)
    return 0;
  const auto value = static_cast<std::int32_t>(bits);
  const bool positive = (bits >> static_cast<unsigned>(size - 1)) != 0;
  return positive ? value : value - (1 << size) + 1;
}

/// All values of one code that fit the table's bits.
void add_values(ac_table& to, std::uint32_t code, const huffman_step& step, int code_bits) {
  const int size = step.value_bits();
  const int free = ac_table::value_bits - code_bits - size;
  if (free < 0)
    return;
  auto* at = to.values.data() + (code << static_cast<unsigned>(ac_table::value_bits - code_bits));
  const auto repeat = std::size_t{1} << free;
  for (std::uint32_t bits = 0; bits < (std::uint32_t{1} << static_cast<unsigned>(size)); ++bits)
    at = std::fill_n(at, repeat, huffman_step{step.length(), step.run(), value_of(bits, size)});
}

/// As many symbols as these bits hold whole codes of.
huffman_step skip_of(const huffman_lookup& lookup, std::uint32_t bits) {
  constexpr int known = ac_table::skip_bits;
  constexpr std::uint32_t mask = (1U << known) - 1;
  constexpr int most = 40; // of a longer way little is gained, and a block has 63
  int length = 0;
  int advance = 0;
  while (length < known && advance < most) {
    const auto step = lookup.codes[bits << static_cast<unsigned>(length) & mask];
    if (step.length() == huffman_step::unknown || step.code_bits() > known - length
        || length + step.length() > ac_table::longest_skip)
      break;
    length += step.length();
    if (step.run() == ac_table::end_of_block)
      return {length, advance, ac_table::ends_block};
    advance += step.run() + 1;
  }
  return length == 0 ? huffman_step{} : huffman_step{length, advance, 0};
}

} // namespace

bool dc_table::build(const huffman_code& code) {
  bool fits = true;
  const bool good = for_each_code(code, [&](std::uint32_t, int, std::uint8_t symbol, std::size_t) {
    fits = fits && symbol <= 15;
  });
  return good && fits && build_lookup(lookup, code, [](int code_bits, std::uint8_t symbol) {
           return step_of(code_bits, 0, symbol);
         });
}

bool ac_table::build(const huffman_code& code) {
  if (!build_lookup(lookup, code, ac_step))
    return false;
  values.fill(huffman_step{});
  for_each_code(code, [&](std::uint32_t bits, int length, std::uint8_t symbol, std::size_t) {
    if (length <= value_bits)
      add_values(*this, bits, ac_step(length, symbol), length);
  });
  for (std::uint32_t bits = 0; bits < skips.size(); ++bits)
    skips[bits] = skip_of(lookup, bits);
  return true;
}

} // namespace leat
