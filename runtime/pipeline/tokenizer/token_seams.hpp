#pragma once

#include "runtime/pipeline/tokenizer/code_points.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace leat {

/// Where texts can be cut without a change to their tokens: between two characters that stand side
/// by side in no token. Short parts come again more often than long ones, and are looked up. ASCII
/// characters and the space of SentencePiece are told apart; all others are taken for one.
class token_seams {
public:
  /// No text can be cut within a token.
  void add_token(std::string_view text);
  /// Characters that are no tokens, though longer ones may have them, are not cut from each other.
  void keep_unknown_together();

  /// Calls `take` with the parts of a text of valid UTF-8, none of them empty, in their order.
  template <class Take>
  void run(std::string_view text, Take take) const {
    const auto* const end = text.data() + text.size();
    const auto* from = text.data();
    std::size_t last = num_kinds;
    for (const auto* at = from; at != end;) {
      std::size_t kind = static_cast<unsigned char>(*at);
      std::size_t size = 1;
      if (kind >= ascii) {
        const auto x = decode_character(at);
        kind = x.code_point == space ? of_space : of_others;
        size = x.size;
      }
      if (!joins_[last][kind]) {
        take(std::string_view{from, static_cast<std::size_t>(at - from)});
        from = at;
      }
      last = kind;
      at += size;
    }
    if (from != end)
      take(std::string_view{from, static_cast<std::size_t>(end - from)});
  }

private:
  static constexpr std::size_t ascii = 0x80;
  static constexpr char32_t space = 0x2581;
  static constexpr std::size_t of_space = ascii;
  static constexpr std::size_t of_others = ascii + 1;
  static constexpr std::size_t num_kinds = ascii + 2;

  static std::size_t kind_of(char32_t x) {
    return x < ascii ? x : x == space ? of_space : of_others;
  }

  using row = std::array<bool, num_kinds>;
  /// Whether two kinds stand side by side in a token; the last row is for the beginning of a text.
  std::array<row, num_kinds + 1> joins_ = [] {
    std::array<row, num_kinds + 1> none{};
    none[num_kinds].fill(true);
    return none;
  }();
  /// Characters that are tokens.
  row has_{};
};

} // namespace leat
