#pragma once

#include "runtime/pipeline/tokenizer/text_table.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace leat {

constexpr std::size_t num_bytes = 256;

/// Byte-pair encoding: which neighbours become one token, and which of them first.
class byte_pairs {
public:
  /// Two tokens that become a third one. The smallest rank is merged first.
  struct merge {
    token_id left;
    token_id right;
    std::uint32_t rank;
    token_id into;
  };

  struct model {
    /// The last one of equal pairs counts.
    std::vector<merge> merges = {};
    /// By byte: its token, or `no_token` for a byte that is left out. Not used with `characters`.
    std::array<token_id, num_bytes> bytes = {};
    /// If not empty, texts begin as characters, those that are not here as their bytes, or, without
    /// `has_bytes`, as `unknown`.
    std::unordered_map<char32_t, token_id> characters = {};
    bool has_bytes = true;
    token_id unknown = no_token;
    /// Several unknown characters in a row are one token.
    bool fuses_unknown = false;
    /// Texts that are tokens as they stand, before any pair is looked at.
    tokens_by_text whole = {};
  };

  /// What `encode` works with; one per thread. Little is kept of what a long text takes.
  struct scratch {
    std::vector<token_id> tokens = {};
    std::vector<std::uint32_t> ranks = {};
    std::vector<token_id> merged = {};
    std::vector<std::uint32_t> before = {};
    std::vector<std::uint32_t> after = {};
    std::vector<std::uint64_t> queue = {};
  };

  explicit byte_pairs(model of);

  /// Appends the tokens of a text, which is valid UTF-8, or bytes where there are no characters. In
  /// time of n log n. Any thread.
  void encode(std::string_view text, scratch& with, std::vector<token_id>& to) const;

private:
  static constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();

  struct found_merge {
    std::uint32_t rank;
    token_id into;
  };
  struct slot {
    std::uint64_t pair;
    found_merge found;
  };

  found_merge find(token_id left, token_id right) const noexcept {
    const auto pair = std::uint64_t{left} << 32 | right;
    for (auto at = place_of(pair);; at = (at + 1) & mask_) {
      const auto& x = slots_[at];
      if (x.pair == pair)
        return x.found;
      if (x.pair == no_pair)
        return {never, no_token};
    }
  }
  std::size_t place_of(std::uint64_t pair) const noexcept {
    constexpr std::uint64_t odd = 0x9e37'79b9'7f4a'7c15;
    const auto mixed = (pair ^ (pair >> 29)) * odd;
    return static_cast<std::size_t>(mixed >> 32 ^ mixed >> 11) & mask_;
  }
  void put(const merge& x);
  void find_pairs_of_bytes();
  void begin_with_characters(std::string_view text, scratch& with) const;
  void merge_few(scratch& with, std::vector<token_id>& to) const;
  void merge_many(scratch& with, std::vector<token_id>& to) const;

  static constexpr std::uint64_t no_pair = std::numeric_limits<std::uint64_t>::max();

  model model_;
  text_table whole_;
  std::vector<slot> slots_;
  std::size_t mask_ = 0;
  /// By two bytes: what their tokens become. Empty with characters.
  std::vector<found_merge> of_bytes_;
};

} // namespace leat
