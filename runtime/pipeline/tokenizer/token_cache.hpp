#pragma once

#include "runtime/pipeline/tokenizer/byte_pairs.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <string_view>
#include <vector>

namespace leat {

/// The tokens of texts that came before, for one thread, in a fixed amount of memory: 3 MB. A text
/// that is found has been compared to its last byte.
class token_cache {
public:
  static constexpr std::size_t most_bytes = 64;
  static constexpr std::size_t most_tokens = 32;

  /// A text, which is not empty, as numbers.
  struct key {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    bool is_short = false;
  };

  /// The bytes up to `readable` may be read, beyond the text's end too.
  static key key_of(std::string_view text, const char* readable) noexcept {
    key of;
    of.is_short = text.size() < short_bytes;
    if (!of.is_short) {
      of.low = std::hash<std::string_view>{}(text);
      return of;
    }
    if (readable - text.data() >= static_cast<std::ptrdiff_t>(short_bytes)) {
      std::memcpy(&of.low, text.data(), sizeof of.low);
      std::memcpy(&of.high, text.data() + sizeof of.low, sizeof of.high);
      const auto n = static_cast<unsigned>(text.size());
      of.low &= masks[n].low;
      of.high &= masks[n].high;
    } else {
      std::array<char, short_bytes> copy{};
      std::memcpy(copy.data(), text.data(), text.size());
      std::memcpy(&of.low, copy.data(), sizeof of.low);
      std::memcpy(&of.high, copy.data() + sizeof of.low, sizeof of.high);
    }
    of.high |= std::uint64_t{text.size()} << length_shift;
    return of;
  }

  /// Appends the text's tokens, if they are known.
  bool find(const key& of, std::string_view text, std::vector<token_id>& to) const {
    if (!of.is_short)
      return find_long(of, text, to);
    const auto& both = short_[short_place(of)];
    for (const auto& x : both)
      if (x.low == of.low && (x.high & ~count_bits) == of.high) {
        const auto count = static_cast<std::size_t>((x.high & count_bits) >> count_shift);
        const auto had = to.size();
        to.resize(had + short_tokens); // a fixed number is copied in one step
        std::memcpy(to.data() + had, x.tokens.data(), sizeof x.tokens);
        to.resize(had + count);
        return true;
      }
    return false;
  }

  void put(const key& of, std::string_view text, std::span<const token_id> tokens) {
    if (of.is_short && tokens.size() <= short_tokens) {
      auto& both = short_[short_place(of)];
      both[1] = both[0];
      both[0] = {of.low, of.high | std::uint64_t{tokens.size()} << count_shift, {}};
      std::copy(tokens.begin(), tokens.end(), both[0].tokens.begin());
    } else if (!of.is_short && text.size() <= most_bytes && tokens.size() <= most_tokens) {
      put_long(of, text, tokens);
    }
  }

private:
  static constexpr std::size_t short_bytes = 16; // the last one is the length
  static constexpr std::size_t short_tokens = 4;
  static constexpr unsigned length_shift = 56;
  static constexpr unsigned count_shift = 60;
  static constexpr std::uint64_t count_bits = std::uint64_t{0xf} << count_shift;
  static constexpr unsigned short_place_bits = 15;
  static constexpr unsigned long_place_bits = 12;

  struct mask {
    std::uint64_t low;
    std::uint64_t high;
  };
  static constexpr std::array<mask, short_bytes> masks = [] {
    std::array<mask, short_bytes> all{};
    for (unsigned n = 0; n < short_bytes; ++n)
      all[n] = {n >= 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * n)) - 1,
                n > 8 ? (std::uint64_t{1} << (8 * (n - 8))) - 1 : 0};
    return all;
  }();

  // Zeros are entries without a text.
  struct short_entry {
    std::uint64_t low;
    std::uint64_t high;
    std::array<token_id, short_tokens> tokens;
  };
  struct long_entry {
    std::uint64_t hash;
    std::uint32_t bytes;
    std::uint32_t count;
    std::array<char, most_bytes> text;
    std::array<token_id, most_tokens> tokens;
  };

  static std::size_t short_place(const key& of) noexcept {
    constexpr std::uint64_t odd = 0x9e37'79b9'7f4a'7c15;
    const auto mixed = (of.low ^ std::rotl(of.high * odd, 29)) * odd;
    return static_cast<std::size_t>((mixed ^ mixed >> 32) * odd >> (64 - short_place_bits));
  }
  static std::size_t long_place(const key& of) noexcept {
    return static_cast<std::size_t>(of.low >> (64 - long_place_bits));
  }

  bool find_long(const key& of, std::string_view text, std::vector<token_id>& to) const {
    const auto& x = long_[long_place(of)];
    if (x.hash != of.low || x.bytes != text.size()
        || std::memcmp(x.text.data(), text.data(), text.size()) != 0)
      return false;
    to.insert(to.end(), x.tokens.begin(), x.tokens.begin() + x.count);
    return true;
  }

  void put_long(const key& of, std::string_view text, std::span<const token_id> tokens) {
    auto& x = long_[long_place(of)];
    x.hash = of.low;
    x.bytes = static_cast<std::uint32_t>(text.size());
    x.count = static_cast<std::uint32_t>(tokens.size());
    std::copy(text.begin(), text.end(), x.text.begin());
    std::copy(tokens.begin(), tokens.end(), x.tokens.begin());
  }

  struct freed {
    void operator()(void* x) const noexcept { std::free(x); }
  };
  template <class T>
  using zeros = std::unique_ptr<T[], freed>; // NOLINT(modernize-avoid-c-arrays)

  /// The system's own zeros: few texts take little of the memory.
  template <class T>
  static zeros<T> make_zeros(std::size_t n) {
    auto* const x = static_cast<T*>(std::calloc(n, sizeof(T)));
    if (!x)
      throw std::bad_alloc{};
    return zeros<T>{x};
  }

  zeros<std::array<short_entry, 2>> short_ =
      make_zeros<std::array<short_entry, 2>>(std::size_t{1} << short_place_bits);
  zeros<long_entry> long_ = make_zeros<long_entry>(std::size_t{1} << long_place_bits);
};

} // namespace leat
