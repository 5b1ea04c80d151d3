#pragma once

#include "runtime/pipeline/tokenizer/split_pattern.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace leat {

/// Finds where a pattern matches, in one pass and in constant time per character, with the choice
/// of a backtracking engine: of several ways to match, the one that comes first in the pattern.
/// Does not change; any thread.
class split_automaton {
public:
  /// Throws `unsupported_tokenizer` for a pattern that matches nothing but empty texts, or that
  /// takes too many states.
  explicit split_automaton(const split_pattern& pattern);

  /// Bytes of the match that begins at `at` in a text of valid UTF-8 that ends at `end`; 0 for
  /// none.
  std::size_t match(const char* at, const char* end) const noexcept {
    const auto* last = at;
    const auto* p = at;
    std::uint32_t state = start;
    for (;;) {
      std::size_t size = 0;
      std::size_t column = end_column;
      if (p != end) {
        if (const auto byte = static_cast<unsigned char>(*p); byte < ascii) {
          column = ascii_[byte];
          size = 1;
        } else {
          const auto x = decode_character(p);
          column = pages_[page_of_[x.code_point >> page_bits]][x.code_point & page_mask];
          size = x.size;
        }
      }
      const auto move = moves_[state * columns_ + column];
      if ((move & matched) != 0)
        last = p;
      state = move & ~matched;
      if (state == dead || p == end)
        return static_cast<std::size_t>(last - at);
      p += size;
    }
  }

private:
  class builder;

  static constexpr std::uint32_t dead = 0;
  static constexpr std::uint32_t start = 1;
  /// The text before this character is a match, the best so far.
  static constexpr std::uint32_t matched = 1U << 31;
  static constexpr std::size_t end_column = 0;
  static constexpr unsigned ascii = 0x80;
  static constexpr unsigned page_bits = 8;
  static constexpr std::size_t page_size = std::size_t{1} << page_bits;
  static constexpr std::uint32_t page_mask = page_size - 1;

  /// By character: the column of the table, which stands for all characters that no set of the
  /// pattern tells apart.
  std::array<std::uint8_t, ascii> ascii_{};
  std::vector<std::uint16_t> page_of_;
  std::vector<std::array<std::uint8_t, page_size>> pages_;
  std::size_t columns_ = 0;
  /// By state and column.
  std::vector<std::uint32_t> moves_;
};

} // namespace leat
