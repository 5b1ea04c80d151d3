#pragma once

#include "runtime/pipeline/tokenizer/code_points.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

namespace leat {

/// A regular expression as a tree.
struct split_pattern {
  enum class kind : std::uint8_t {
    /// One character out of `set`.
    character,
    /// The parts, one after the other.
    sequence,
    /// The first part with which all that follows matches.
    choice,
    /// The only part, `min` to `max` times: as often as possible, or as rarely.
    repeat,
    /// Nothing, where the next character is in `set`, or the text ends and `at_end` says so.
    ahead,
  };
  static constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

  kind is = kind::sequence;
  code_points set = {};
  bool at_end = false;
  std::vector<split_pattern> parts = {};
  std::size_t min = 0;
  std::size_t max = no_limit;
  bool is_lazy = false;
  /// Gives nothing back that it has matched.
  bool is_possessive = false;
};

/// Whose syntax a pattern has: they differ in small ways.
enum class pattern_syntax : std::uint8_t {
  /// Oniguruma's, as tokenizer.json means it.
  oniguruma,
  /// Rust's, as tiktoken means it.
  rust,
};

/// Reads a pattern, which is UTF-8. Classes such as \p{L} and \s are those of Unicode 16.0.0.
/// Throws `unsupported_tokenizer` for what no automaton can do, such as references to groups, and
/// for what is rare; a possessive repetition is taken where it means what a plain one does.
split_pattern parse_split_pattern(std::string_view text, pattern_syntax syntax);

/// Exactly this text.
split_pattern pattern_of_literal(std::string_view text);
/// One character of the set, or as many as possible.
split_pattern pattern_of_set(code_points set, bool many);

} // namespace leat
