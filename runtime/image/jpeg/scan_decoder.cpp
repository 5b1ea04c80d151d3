#include "runtime/image/jpeg/scan_decoder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace leat {

namespace {

/// Row by row, the place of each coefficient in the order of the file.
constexpr std::array<std::uint8_t, 64> zigzag{
    0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
    41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
    30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

inline std::uint64_t load_big_endian(const std::uint8_t* from) {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  if constexpr (std::endian::native == std::endian::little)
    word = __builtin_bswap64(word);
  return word;
}

/// The next bits of a scan, the first one highest. At least 56 after `refill`.
struct bit_reader {
  std::uint64_t buffer;
  int count;
  const std::uint8_t* next;

  void refill() noexcept {
    buffer |= load_big_endian(next) >> static_cast<unsigned>(count);
    next += (63 - count) >> 3;
    count |= 56;
  }
  std::size_t peek(int bits) const noexcept { return buffer >> static_cast<unsigned>(64 - bits); }
  void drop(int bits) noexcept {
    buffer <<= static_cast<unsigned>(bits) & 63U;
    count -= bits;
  }
};

/// A code that the lookup's bits do not hold whole. `run` of `no_code`: there is none.
huffman_step long_code(const huffman_lookup& lookup, std::uint64_t buffer, bool is_ac) noexcept {
  for (int length = huffman_lookup::bits + 1; length <= 16; ++length) {
    const auto code = static_cast<std::int32_t>(buffer >> static_cast<unsigned>(64 - length));
    const auto at = static_cast<std::size_t>(length);
    if (code > lookup.highest[at])
      continue;
    const auto number = code + lookup.offset[at];
    const int symbol = lookup.symbols[static_cast<std::size_t>(number)];
    const int size = is_ac ? symbol & 15 : symbol;
    const int run = is_ac ? symbol >> 4 : 0;
    if (is_ac && size == 0 && run != 15)
      return {length, ac_table::end_of_block, length << 8};
    return {length + size, run, length << 8 | size};
  }
  return {16, ac_table::no_code, 16 << 8};
}

inline huffman_step next_code(const bit_reader& from, const huffman_lookup& lookup, bool is_ac) {
  const auto step = lookup.codes[from.peek(huffman_lookup::bits)];
  return step.length() != huffman_step::unknown ? step : long_code(lookup, from.buffer, is_ac);
}

/// The value that follows a code: its first bit is the sign.
inline int value_behind(std::uint64_t buffer, const huffman_step& step) noexcept {
  const auto size = static_cast<unsigned>(step.value_bits());
  const std::uint64_t bits = buffer << static_cast<unsigned>(step.code_bits());
  const auto value = static_cast<std::int64_t>((bits >> 1U) >> (63U - size));
  const std::int64_t negative = ~(static_cast<std::int64_t>(bits) >> 63);
  return static_cast<int>(value + (negative & (1 - (std::int64_t{1} << size))));
}

/// Says of the number after a block's last coefficient whether the block ended with its 63rd
/// coefficient or with an end of block.
inline bool ends_well(int k) noexcept {
  constexpr int first_end = 1 + ac_table::end_of_block + 1;
  return k == 64 || static_cast<unsigned>(k - first_end) <= 62;
}

/// Adds the difference. False if libjpeg would not continue, or its arithmetic would overflow.
inline bool next_dc(bit_reader& from, const dc_table& table, std::int32_t& dc) noexcept {
  from.refill();
  const auto step = next_code(from, table.lookup, false);
  dc += value_behind(from.buffer, step);
  from.drop(step.length());
  return step.run() == 0 && static_cast<std::uint32_t>(dc + 32768) <= 65535;
}

/// Writes coefficients 1 to 63, those that are not zero. `order`: where each number stands; numbers
/// from 64 to 255 stand at a spare place.
inline bool decode_ac(bit_reader& from, const ac_table& table, const std::uint16_t* order,
                      std::int16_t* block) noexcept {
  bit_reader bits = from;
  const auto* values = table.values.data();
  int k = 1;
  auto put = [&](const huffman_step& step, int value) {
    k += step.run();
    bits.drop(step.length());
    block[order[k]] = static_cast<std::int16_t>(value);
    return ++k < 64;
  };
  for (bool more = true; more;) {
    bits.refill();
    // Four short ones fit one refill; a long one may need all of its own.
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const auto step = values[bits.peek(ac_table::value_bits)];
      if (__builtin_expect((step.length() & huffman_step::unknown) != 0, 0)) {
        bits.refill();
        const auto code = next_code(bits, table.lookup, true);
        more = put(code, value_behind(bits.buffer, code));
        break;
      }
      if (!put(step, step.value())) {
        more = false;
        break;
      }
    }
  }
  from = bits;
  return ends_well(k);
}

/// Passes over coefficients 1 to 63.
inline bool skim_ac(bit_reader& from, const ac_table& table) noexcept {
  bit_reader bits = from;
  const auto* skips = table.skips.data();
  int k = 1;
  do {
    bits.refill();
#pragma GCC unroll 3
    for (int i = 0; i < 3; ++i) {
      static_assert(3 * ac_table::longest_skip <= 56);
      const auto many = skips[bits.peek(ac_table::skip_bits)];
      if (__builtin_expect(many.length() == huffman_step::unknown || k + many.run() >= 64, 0)) {
        bits.refill();
        const auto step = next_code(bits, table.lookup, true);
        bits.drop(step.length());
        k += step.run() + 1;
        break;
      }
      bits.drop(many.length());
      k += many.run();
      if (many.value() == ac_table::ends_block) {
        from = bits;
        return true;
      }
    }
  } while (k < 64);
  from = bits;
  return ends_well(k);
}

bool same(const huffman_code& a, const huffman_code& b) noexcept {
  return a.counts == b.counts;
}

} // namespace

scan_decoder::scan_decoder(const coefficient_group& group) : group_(group) {
  for (std::size_t k = 0; k < order_.size(); ++k)
    order_[k] = static_cast<std::uint16_t>(k < 64 ? zigzag[k] / 8 * group.row() + zigzag[k] % 8
                                                  : 8 * group.row());
}

bool scan_decoder::understands(const jpeg_frame& frame) noexcept {
  if (!frame.is_plain || (frame.num_components != 1 && frame.num_components != 3))
    return false;
  std::size_t blocks = 0;
  for (std::size_t c = 0; c < frame.num_components; ++c) {
    const auto& x = frame.components[c];
    blocks += std::size_t{x.across} * x.down;
    if (frame.across % x.across != 0 || frame.down % x.down != 0)
      return false;
  }
  return blocks <= max_blocks;
}

bool scan_decoder::open(const jpeg_frame& frame) {
  frame_ = frame;
  num_blocks_ = 0;
  num_groups_ = 0;
  for (std::size_t c = 0; c < frame.num_components; ++c) {
    const auto& x = frame.components[c];
    // Chroma components share tables, which are long to build.
    auto earlier = [&](auto code) {
      std::size_t i = 0;
      while (i < c && !same(frame.components[i].*code, x.*code))
        ++i;
      return i;
    };
    const auto dc = earlier(&jpeg_component::dc);
    const auto ac = earlier(&jpeg_component::ac);
    if ((dc == c && !dc_[c].build(x.dc)) || (ac == c && !ac_[c].build(x.ac)))
      return false;
    first_group_[c] = num_groups_;
    num_groups_ += std::size_t{x.across} * x.down;
    for (std::size_t row = 0; row < x.down; ++row)
      for (std::size_t column = 0; column < x.across; ++column)
        add_block(c, row, column, dc_[dc], ac_[ac]);
  }
  return true;
}

void scan_decoder::add_block(std::size_t component, std::size_t row, std::size_t column,
                             const dc_table& dc, const ac_table& ac) {
  auto& x = blocks_[num_blocks_++];
  x.component = component;
  x.dc = &dc;
  x.ac = &ac;
  x.is_one_sample = frame_.components[component].samples == 1;
  const std::size_t across = frame_.components[component].across;
  for (std::size_t i = 0; i < group_.blocks; ++i) {
    const auto at = i * across + column;
    const auto group = first_group_[component] + row * across + at / group_.blocks;
    x.places[i] = group * group_.size() + at % group_.blocks * 8;
  }
}

void scan_decoder::begin_at(std::size_t byte, unsigned bit) {
  bit_reader reader{0, 0, bytes_.data() + byte};
  reader.refill();
  reader.drop(static_cast<int>(bit));
  at_ = {reader.buffer, reader.count, reader.next};
}

void scan_decoder::rewind() {
  stuffed_.clear();
  taken_ = bytes_.assign(frame_.scan, &stuffed_);
  begin_at(0, 0);
  last_dc_.fill(0);
  restart_.mcus = frame_.restart_interval;
  restart_.number = 0;
}

bool scan_decoder::seek(std::span<const scan_place> places, std::size_t row, std::size_t begin,
                        std::size_t end) {
  const auto first = row * places_a_row(frame_);
  const auto& place = places[first + begin / mcus_a_place];
  const auto next = first + (end + mcus_a_place - 1) / mcus_a_place;
  const std::size_t from = place.bit / 8;
  // The last byte is shared with what follows, and may be followed by a zero.
  const std::size_t behind =
      next < places.size() ? std::size_t{places[next].bit} / 8 + 2 : frame_.scan.size();
  const std::size_t stop = std::min(behind, frame_.scan.size());
  if (from >= stop || frame_.restart_interval != 0)
    return false;
  bytes_.assign(frame_.scan.subspan(from, stop - from));
  begin_at(0, place.bit % 8);
  std::copy(place.dc.begin(), place.dc.end(), last_dc_.begin());
  return skim(begin % mcus_a_place);
}

std::size_t scan_decoder::position() const noexcept {
  return static_cast<std::size_t>(at_.next - bytes_.data()) * 8
         - static_cast<std::size_t>(at_.count);
}

bool scan_decoder::overran() const noexcept {
  return position() > bytes_.size() * 8;
}

// What follows the last MCU of an interval, other than bits that fill its last byte, is damage.
bool scan_decoder::next_interval() {
  const auto rest = frame_.scan.subspan(taken_);
  const auto marker = static_cast<std::byte>(0xD0 + restart_.number % 8);
  if (bytes_.size() * 8 - position() >= 8 || rest.size() < 2 || rest[0] != std::byte{0xFF}
      || rest[1] != marker)
    return false;
  taken_ += 2 + bytes_.assign(rest.subspan(2));
  begin_at(0, 0);
  last_dc_.fill(0);
  restart_.mcus = frame_.restart_interval;
  ++restart_.number;
  return true;
}

template <class Each>
bool scan_decoder::for_each_interval(std::size_t mcus, Each each) {
  if (frame_.restart_interval == 0)
    return each(std::size_t{0}, mcus);
  for (std::size_t done = 0; done < mcus;) {
    if (restart_.mcus == 0 && !next_interval())
      return false;
    const auto run = std::min(mcus - done, restart_.mcus);
    if (!each(done, run))
      return false;
    restart_.mcus -= run;
    done += run;
  }
  return true;
}

bool scan_decoder::skim(std::size_t mcus) {
  return for_each_interval(mcus, [this](std::size_t, std::size_t run) { return skim_run(run); });
}

// One MCU takes less than the padding, so that checking the place after each one is enough.
static_assert(scan_bytes::padding
              >= scan_decoder::max_blocks * 64 * (16 + 15) / 8 + 2 * sizeof(std::uint64_t));

bool scan_decoder::skim_run(std::size_t mcus) {
  bit_reader bits{at_.buffer, at_.count, at_.next};
  const auto* limit = bytes_.data() + bytes_.size() + sizeof(std::uint64_t);
  auto dc = last_dc_;
  bool good = true;
  for (std::size_t i = 0; i < mcus && good; ++i) {
    for (std::size_t b = 0; b < num_blocks_; ++b) {
      const auto& x = blocks_[b];
      good = next_dc(bits, *x.dc, dc[x.component]) && good;
      good = skim_ac(bits, *x.ac) && good;
    }
    good = good && bits.next <= limit;
  }
  last_dc_ = dc;
  at_ = {bits.buffer, bits.count, bits.next};
  return good && !overran();
}

bool scan_decoder::decode(std::size_t mcus, std::int16_t* to) {
  return for_each_interval(
      mcus, [&](std::size_t first, std::size_t run) { return decode_run(first, run, to); });
}

bool scan_decoder::decode_run(std::size_t first, std::size_t mcus, std::int16_t* to) {
  bit_reader bits{at_.buffer, at_.count, at_.next};
  const auto* limit = bytes_.data() + bytes_.size() + sizeof(std::uint64_t);
  auto dc = last_dc_;
  bool good = true;
  for (std::size_t i = first; i < first + mcus && good; ++i) {
    for (std::size_t b = 0; b < num_blocks_; ++b) {
      const auto& x = blocks_[b];
      auto* block = to + x.places[i];
      good = next_dc(bits, *x.dc, dc[x.component]) && good;
      block[0] = static_cast<std::int16_t>(dc[x.component]);
      good = (x.is_one_sample ? skim_ac(bits, *x.ac) : decode_ac(bits, *x.ac, order_.data(), block))
             && good;
    }
    good = good && bits.next <= limit;
  }
  last_dc_ = dc;
  at_ = {bits.buffer, bits.count, bits.next};
  return good && !overran();
}

bool scan_decoder::survey(std::vector<scan_place>& places, std::vector<work_place>* by_work) {
  places.clear();
  if (by_work)
    by_work->clear();
  if (frame_.restart_interval != 0
      || frame_.scan.size() > std::numeric_limits<std::uint32_t>::max() / 8)
    return false;
  rewind();
  std::size_t zeros = 0;
  std::size_t stretch = 0;
  const auto across = frame_.mcus_across();
  const std::size_t step = by_work ? 1 : mcus_a_place;
  for (std::size_t row = 0; row < frame_.mcus_down(); ++row)
    for (std::size_t mcu = 0; mcu < across; mcu += step) {
      const auto at = position();
      while (zeros < stuffed_.size() && stuffed_[zeros] < at / 8)
        ++zeros;
      scan_place place{.bit = static_cast<std::uint32_t>(at + 8 * zeros)};
      for (std::size_t c = 0; c < max_components; ++c)
        place.dc[c] = static_cast<std::int16_t>(last_dc_[c]);
      if (mcu % mcus_a_place == 0)
        places.push_back(place);
      if (!skim(std::min(step, across - mcu)))
        return false;
      if (by_work && (mcu == 0 || position() - stretch > bits_of_work)) {
        by_work->push_back({place.bit, place.dc, static_cast<std::uint16_t>(mcu)});
        stretch = at;
      }
    }
  const auto rest = frame_.scan.subspan(taken_);
  return bytes_.size() * 8 - position() < 8 && rest.size() >= 2 && rest[0] == std::byte{0xFF}
         && rest[1] == std::byte{0xD9};
}

} // namespace leat
