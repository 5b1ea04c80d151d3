#pragma once

#include "runtime/image/device/device_image.hpp"
#include "runtime/image/device/huffman_entries.hpp"
#include "runtime/image/device/on_both.hpp"
#include "runtime/image/device/stuffing.hpp"

#include <cstdint>

namespace leat {

/// The bits of a stretch, of which 32 can always be looked at.
struct word_reader {
  const std::uint32_t* begin;
  const std::uint32_t* next;
  std::uint32_t high;
  std::uint32_t low;
  std::uint32_t ahead;
  /// Bits of `high` that have been taken: 0 to 31.
  std::uint32_t taken;

  LEAT_ON_BOTH void start(const std::uint32_t* words, std::uint32_t bit) {
    begin = words;
    next = words + words_ahead;
    high = words[0];
    low = words[1];
    ahead = words[2];
    taken = bit;
  }
  LEAT_ON_BOTH std::uint32_t peek() const {
#if defined(__CUDA_ARCH__)
    return __funnelshift_l(low, high, taken);
#else
    return taken == 0 ? high : high << taken | low >> (32 - taken);
#endif
  }
  /// At most 32.
  LEAT_ON_BOTH void drop(std::uint32_t bits) {
    taken += bits;
    const bool refill = taken >= 32;
    high = refill ? low : high;
    low = refill ? ahead : low;
    taken &= 31;
#if defined(__CUDA_ARCH__)
    // nvcc would load into another register and move it at once, which waits for the load.
    asm volatile("{ .reg .pred q; setp.ne.u32 q, %1, 0; @q ld.global.nc.u32 %0, [%2]; }"
                 : "+r"(ahead)
                 : "r"(static_cast<std::uint32_t>(refill)), "l"(next));
#else
    if (refill)
      ahead = *next;
#endif
    next += refill ? 1 : 0;
  }
  /// Bits from the first word.
  LEAT_ON_BOTH std::uint32_t position() const {
    return static_cast<std::uint32_t>(next - begin - words_ahead) * 32 + taken;
  }
};

/// Decodes blocks of one stretch, symbol by symbol, DC and AC alike, into coefficients that are
/// zeros, in the order of the file. MCUs that lie beside the image's part are passed over.
class stretch_decoder {
public:
  LEAT_ON_BOTH stretch_decoder(const device_stretch& stretch, const device_image& image,
                               const device_tables& tables, const device_bits& bits,
                               const std::uint32_t* words, std::int16_t* coefficients)
      : stretch_(stretch), tables_(tables), bits_(bits), coefficients_(coefficients),
        x_(stretch.x - image.x), y_(stretch.y - image.y), width_(image.width),
        mcus_left_(stretch.mcus), last_dc_0_(stretch.dc[0]), last_dc_1_(stretch.dc[1]),
        last_dc_2_(stretch.dc[2]) {
    reader_.start(words + stretch.first_word, stretch.bit);
    begin_block();
  }

  /// The next symbol, unless the block is done.
  LEAT_ON_BOTH void step() {
    if (k_ >= 64)
      return;
    const std::uint32_t word = reader_.peek();
    const std::uint32_t key = word >> 16;
    const bool is_dc = k_ == 0;
    const std::uint32_t first = is_dc ? dc_.first : ac_.first;
    const std::uint32_t cut = is_dc ? dc_.of_short : ac_.of_short;
    const std::uint32_t top = is_dc ? dc_.of_all : ac_.of_all;
    const std::uint32_t of_long = (key < top ? key : top) - cut + device_tables::short_entries;
    const std::uint32_t entry =
        tables_.entries[first + (key < cut ? key >> (16 - device_tables::first_bits) : of_long)];
    const std::uint32_t all_bits = entry & 31;
    const std::uint32_t size = entry >> 5 & 15;
    const std::uint32_t advance = entry >> 9;
    // The first bit of a value is its sign.
    const std::uint32_t rest = word << (all_bits - size);
    const auto raw = static_cast<std::int32_t>((rest >> 1) >> (31 - size));
    std::int32_t value = raw + (static_cast<std::int32_t>(rest) < 0 ? 0 : 1 - (1 << size));
    value += is_dc ? dc_value_ : 0;
    dc_value_ = is_dc ? value : dc_value_;
    is_bad_ |= static_cast<std::uint32_t>(value + 32768) >> 16;
    k_ += advance;
    is_bad_ |= k_ > 64 && advance != end_of_block_advance ? 1U : 0U;
    if (k_ <= 64 && to_ != nowhere) // after a run of zeros another zero
      coefficients_[to_ + k_ - 1] = static_cast<std::int16_t>(value);
    reader_.drop(all_bits);
  }

  /// Goes on to the next block if this one is done. False: there is none.
  LEAT_ON_BOTH bool turn() {
    if (k_ < 64)
      return true;
    const std::uint32_t c = block_.component;
    last_dc_0_ = c == 0 ? dc_value_ : last_dc_0_;
    last_dc_1_ = c == 1 ? dc_value_ : last_dc_1_;
    last_dc_2_ = c == 2 ? dc_value_ : last_dc_2_;
    if (++number_ == tables_.num_blocks) {
      number_ = 0;
      ++x_;
      const std::uint32_t position = reader_.position();
      if (position > bits_.all) { // ran out
        is_bad_ = 1;
        return false;
      }
      if (--mcus_left_ == 0) {
        const std::int16_t* next = stretch_.next_dc;
        if (stretch_.is_checked != 0
            && (position != bits_.expected || last_dc_0_ != next[0] || last_dc_1_ != next[1]
                || last_dc_2_ != next[2]))
          is_bad_ = 1;
        return false;
      }
    }
    begin_block();
    return true;
  }

  LEAT_ON_BOTH bool is_good() const { return is_bad_ == 0; }

private:
  static constexpr std::uint32_t nowhere = ~std::uint32_t{0};

  struct table {
    std::uint32_t first;
    std::uint32_t of_short;
    std::uint32_t of_all;
  };
  LEAT_ON_BOTH table table_of(std::uint32_t number) const {
    const auto& limits = tables_.limits[number];
    return {device_tables::first_entry(number), limits.of_short, limits.of_all};
  }

  LEAT_ON_BOTH void begin_block() {
    block_ = tables_.blocks[number_];
    dc_ = table_of(block_.dc);
    ac_ = table_of(2U + block_.ac);
    to_ = x_ < width_ ? (block_.first + y_ * block_.row + x_ * block_.across) * 64 : nowhere;
    const std::uint32_t c = block_.component;
    dc_value_ = c == 0 ? last_dc_0_ : c == 1 ? last_dc_1_ : last_dc_2_;
    k_ = 0;
  }

  const device_stretch& stretch_;
  const device_tables& tables_;
  const device_bits bits_;
  std::int16_t* coefficients_;
  word_reader reader_{};
  /// MCU in the part; columns left of it wrap.
  std::uint32_t x_;
  std::uint32_t y_;
  std::uint32_t width_;
  std::uint32_t mcus_left_;
  // Of each component; no array, which would lie in memory.
  std::int32_t last_dc_0_;
  std::int32_t last_dc_1_;
  std::int32_t last_dc_2_;

  std::uint32_t number_ = 0;
  device_block block_{};
  table dc_{};
  table ac_{};
  /// The block's first coefficient, and the number of the next one.
  std::uint32_t to_ = nowhere;
  std::uint32_t k_ = 0;
  /// Of the block's component.
  std::int32_t dc_value_ = 0;
  std::uint32_t is_bad_ = 0;
};

/// False: damage, which the processor is to judge.
LEAT_ON_BOTH inline bool decode_stretch(const device_stretch& stretch, const device_image& image,
                                        const device_tables& tables, const device_bits& bits,
                                        const std::uint32_t* words, std::int16_t* coefficients) {
  // A block's end is looked at after every second symbol: lanes of a warp wait there for each
  // other, so that they share what it costs.
  stretch_decoder decoder(stretch, image, tables, bits, words, coefficients);
  do {
#if defined(__CUDA_ARCH__)
    __syncwarp(); // else nvcc makes a loop of its own of each block's symbols
#endif
    decoder.step();
    decoder.step();
  } while (decoder.turn());
  return decoder.is_good();
}

} // namespace leat
