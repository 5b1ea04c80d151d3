#pragma once

#include <leat/error.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace leat {

/// A place in a text, both numbers from 1. Columns count characters.
struct text_position {
  std::uint64_t line = 1;
  std::uint64_t column = 1;
};

/// "line 3, column 7"
std::string to_string(const text_position& x);

/// An `errc::invalid_argument` with stage "pipeline text", and the place after `got`.
error text_error(const text_position& at, const std::string& got, std::string needed);

enum class token_kind : std::uint8_t { word, whole, negative, decimal, text, symbol, end };

struct token {
  token_kind kind = token_kind::end;
  text_position at;
  /// As written in the text, with quotes.
  std::string_view raw;
  /// Content of a text, escapes replaced.
  std::string text = {};
  std::uint64_t whole = 0;
  /// The value of a whole number with a sign.
  std::int64_t negative = 0;
  double decimal = 0;

  bool is_symbol(char x) const { return kind == token_kind::symbol && raw.front() == x; }
  /// The word `true` or `false`: a value, never a name.
  bool is_flag() const { return kind == token_kind::word && (raw == "true" || raw == "false"); }
};

/// How an error names a token: `"shufle"`, or the end of the text.
std::string describe(const token& x);

/// Cuts the text form of pipelines (docs/pipelines.md) into words, numbers, texts and symbols.
/// Borrows the text, and so do the tokens.
class pipeline_lexer {
public:
  explicit pipeline_lexer(std::string_view text) : rest_(text) {}

  /// The next token; at the end of the text, the end again and again. Throws `text_error`.
  token next();

private:
  void skip_space();
  std::string_view advance(std::size_t bytes);
  token number();
  token quoted_text();
  char escaped(const text_position& begin);

  std::string_view rest_;
  text_position at_;
};

/// Whether the lexer reads this as a number that prints as this text: "12", "-0.5"; neither "012"
/// nor "-0".
bool is_number(std::string_view text);

} // namespace leat
