#pragma once

#include "runtime/pipeline/tokenizer/added_tokens.hpp"
#include "runtime/pipeline/tokenizer/byte_pairs.hpp"
#include "runtime/pipeline/tokenizer/character_changes.hpp"
#include "runtime/pipeline/tokenizer/likely_pieces.hpp"
#include "runtime/pipeline/tokenizer/split_step.hpp"
#include "runtime/pipeline/tokenizer/text_form.hpp"
#include "runtime/pipeline/tokenizer/token_seams.hpp"
#include "runtime/pipeline/tokenizer/word_pieces.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace leat {

/// No vocabulary has more; it bounds what a wrong number makes room for.
constexpr token_id most_tokens = 1 << 24;

/// Every occurrence of a pattern becomes another text.
struct replace_step {
  std::shared_ptr<const split_automaton> pattern;
  std::string by;
};
/// Every occurrence of one ASCII character becomes another text.
struct replace_character_step {
  char what;
  std::string by;
};
/// Comes before every text.
struct prepend_step {
  std::string text;
};
/// Letters become small.
struct lower_step {};
using normal_step = std::variant<replace_step, replace_character_step, prepend_step, text_form,
                                 lower_step, std::shared_ptr<const character_changes>>;

/// Spaces become another text, which also comes before parts that do not begin with it.
struct space_step {
  enum class prefix : std::uint8_t { never, first, always };
  std::string space;
  prefix where = prefix::always;
};
using part_step = std::variant<split_step, space_step, token_seams>;

/// A tokenizer as its file describes it.
struct tokenizer_parts {
  std::vector<normal_step> normalizers = {};
  std::vector<part_step> steps = {};
  std::variant<byte_pairs::model, word_pieces::model, likely_pieces::model> model = {};
  std::vector<added_token> added = {};
  /// What stands around a text with special tokens.
  std::vector<token_id> before = {};
  std::vector<token_id> after = {};
  /// The bytes that a token stands for.
  std::unordered_map<token_id, std::string> texts = {};
};

} // namespace leat
