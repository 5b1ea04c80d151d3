#pragma once

#include "runtime/base/not_copied.hpp"
#include "runtime/pipeline/tokenizer/token_cache.hpp"
#include "runtime/pipeline/tokenizer/tokenizer_parts.hpp"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace leat {

/// Turns texts into tokens, as the program that wrote the tokenizer's file does, to the last token.
/// Does not change; any thread, each with a `scratch` of its own.
class text_tokenizer : not_copied {
public:
  struct options {
    /// What the file puts around a text.
    bool adds_special = false;
    /// Special tokens within a text are text.
    bool encodes_special = false;
  };

  /// What a thread works with. Nothing of it changes what comes out, and little is kept of what a
  /// long text takes.
  struct scratch {
    token_cache cache = {};
    byte_pairs::scratch pairs = {};
    likely_pieces::scratch cuts = {};
    std::string normal = {};
    std::string other = {};
    std::vector<std::string> parts = {};
    /// Up to where bytes may be read in the text at hand.
    const char* readable = nullptr;
  };

  explicit text_tokenizer(tokenizer_parts parts);
  ~text_tokenizer() = default;

  /// Appends the tokens of a text, which is UTF-8.
  void encode(std::string_view text, const options& how, scratch& with,
              std::vector<token_id>& to) const;
  /// The bytes of tokens; of numbers that are none, nothing.
  std::string decode(std::span<const token_id> tokens) const;

  token_id last_token() const noexcept { return last_; }
  /// How many tokens stand around a text with special ones.
  std::size_t num_around() const noexcept { return before_.size() + after_.size(); }
  /// How many of them come after it.
  std::size_t num_after() const noexcept { return after_.size(); }

private:
  void encode_text(std::string_view text, const options& how, bool is_first, scratch& with,
                   std::vector<token_id>& to) const;
  void encode_normal(std::string_view text, bool is_first, std::size_t step, scratch& with,
                     std::vector<token_id>& to) const;
  void encode_part(std::string_view part, scratch& with, std::vector<token_id>& to) const;
  std::string_view normalized(std::string_view text, scratch& with) const;

  std::variant<byte_pairs, word_pieces, likely_pieces> model_;
  added_tokens raw_added_;
  added_tokens normal_added_;
  std::vector<normal_step> normalizers_;
  std::vector<part_step> steps_;
  std::vector<token_id> before_;
  std::vector<token_id> after_;
  std::unordered_map<token_id, std::string> texts_;
  token_id last_ = 0;
};

} // namespace leat
