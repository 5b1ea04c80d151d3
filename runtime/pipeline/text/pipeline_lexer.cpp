#include "runtime/pipeline/text/pipeline_lexer.hpp"

#include "runtime/base/number_text.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/utf8.hpp"

#include <charconv>
#include <utility>

namespace leat {

namespace {

/// Number of leading bytes for which `fits` is true.
template <class Predicate>
std::size_t run_length(std::string_view text, std::size_t from, Predicate fits) {
  std::size_t n = 0;
  while (from + n < text.size() && fits(text[from + n]))
    ++n;
  return n;
}

/// Bytes of the fraction that begins at `from`: a point and digits, or none.
std::size_t fraction_length(std::string_view text, std::size_t from) {
  if (from >= text.size() || text[from] != '.')
    return 0;
  const auto digits = run_length(text, from + 1, is_digit);
  return digits == 0 ? 0 : digits + 1;
}

/// Bytes of the exponent that begins at `from`: "e", a sign or none, and digits; or none.
std::size_t exponent_length(std::string_view text, std::size_t from) {
  if (from >= text.size() || (text[from] != 'e' && text[from] != 'E'))
    return 0;
  std::size_t sign = 0;
  if (from + 1 < text.size() && (text[from + 1] == '+' || text[from + 1] == '-'))
    sign = 1;
  const auto digits = run_length(text, from + 1 + sign, is_digit);
  return digits == 0 ? 0 : 1 + sign + digits;
}

template <class T>
bool parse_all(std::string_view text, T& into) {
  const auto* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, into);
  return failure == std::errc{} && stop == end;
}

int hex_value(char x) {
  if (is_digit(x))
    return x - '0';
  if (x >= 'a' && x <= 'f')
    return x - 'a' + 10;
  return x >= 'A' && x <= 'F' ? x - 'A' + 10 : -1;
}

} // namespace

std::string to_string(const text_position& x) {
  return "line " + std::to_string(x.line) + ", column " + std::to_string(x.column);
}

error text_error(const text_position& at, const std::string& got, std::string needed) {
  return {
      errc::invalid_argument,
      {.stage = "pipeline text", .got = got + " at " + to_string(at), .needed = std::move(needed)}};
}

std::string describe(const token& x) {
  if (x.kind == token_kind::end)
    return "the end";
  return x.kind == token_kind::text ? excerpt(x.text) : excerpt(x.raw);
}

token pipeline_lexer::next() {
  skip_space();
  if (rest_.empty())
    return {.kind = token_kind::end, .at = at_, .raw = rest_};
  const char x = rest_.front();
  if (is_digit(x) || (x == '-' && rest_.size() > 1 && is_digit(rest_[1])))
    return number();
  if (x == '"')
    return quoted_text();
  const auto at = at_;
  if (is_word_char(x))
    return {.kind = token_kind::word, .at = at, .raw = advance(run_length(rest_, 0, is_word_char))};
  if (std::string_view{"()[],.="}.find(x) != std::string_view::npos)
    return {.kind = token_kind::symbol, .at = at, .raw = advance(1)};
  if (x == '-')
    throw text_error(at, "\"-\"", "a number after it");
  const auto length = utf8_length(rest_);
  throw text_error(at, in_quotes(rest_.substr(0, length == 0 ? 1 : length)),
                   "a word, a number, a text in quotes or one of ( ) [ ] , . =");
}

void pipeline_lexer::skip_space() {
  while (!rest_.empty()) {
    const char x = rest_.front();
    if (x == '#')
      advance(run_length(rest_, 0, [](char c) { return c != '\n'; }));
    else if (x == ' ' || x == '\t' || x == '\r' || x == '\n')
      advance(1);
    else
      return;
  }
}

std::string_view pipeline_lexer::advance(std::size_t bytes) {
  const auto passed = rest_.substr(0, bytes);
  for (const char x : passed) {
    if (x == '\n')
      at_ = {at_.line + 1, 1};
    else if ((static_cast<unsigned char>(x) >> 6) != 2)
      ++at_.column;
  }
  rest_.remove_prefix(bytes);
  return passed;
}

token pipeline_lexer::number() {
  const auto at = at_;
  const std::size_t sign = rest_.front() == '-' ? 1 : 0;
  const auto digits = sign + run_length(rest_, sign, is_digit);
  auto length = digits + fraction_length(rest_, digits);
  length += exponent_length(rest_, length);
  if (const auto tail = run_length(rest_, length, is_word_char); tail > 0)
    throw text_error(at, excerpt(rest_.substr(0, length + tail)),
                     "a number: 12, 0.5 or 1e-3; or a word, which does not begin with a digit");
  const auto whole = sign == 0 ? token_kind::whole : token_kind::negative;
  token x{.kind = length == digits ? whole : token_kind::decimal, .at = at, .raw = advance(length)};
  if (x.kind == token_kind::whole && !parse_all(x.raw, x.whole))
    throw text_error(at, excerpt(x.raw), "a whole number below 2^64");
  if (x.kind == token_kind::negative && !parse_all(x.raw, x.negative))
    throw text_error(at, excerpt(x.raw), "a whole number from -2^63 on");
  if (x.kind == token_kind::decimal && !parse_all(x.raw, x.decimal))
    throw text_error(at, excerpt(x.raw), "a number in the range of double");
  return x;
}

token pipeline_lexer::quoted_text() {
  token x{.kind = token_kind::text, .at = at_, .raw = rest_};
  advance(1);
  while (!rest_.empty() && rest_.front() != '"' && rest_.front() != '\n') {
    const auto at = at_;
    const char next = advance(1).front();
    x.text += next == '\\' ? escaped(at) : next;
  }
  if (rest_.empty() || rest_.front() == '\n')
    throw text_error(x.at, "a text that does not end", "a \" on the same line");
  advance(1);
  x.raw.remove_suffix(rest_.size());
  return x;
}

/// The byte that an escape stands for. Its backslash, at `begin`, has been read.
char pipeline_lexer::escaped(const text_position& begin) {
  const char kind = rest_.empty() ? ' ' : rest_.front();
  if (kind == '"' || kind == '\\')
    return advance(1).front();
  if (kind == 'n' || kind == 't')
    return advance(1).front() == 'n' ? '\n' : '\t';
  const auto high = kind == 'x' && rest_.size() > 2 ? hex_value(rest_[1]) : -1;
  const auto low = high < 0 ? -1 : hex_value(rest_[2]);
  if (low < 0)
    throw text_error(begin, "another escape", R"(\", \\, \n, \t or \xHH)");
  advance(3);
  return static_cast<char>(high * 16 + low);
}

bool is_number(std::string_view text) {
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  if (text.size() == sign || !is_digit(text[sign]))
    return false;
  if (std::uint64_t whole = 0; parse_all(text, whole))
    return std::to_string(whole) == text;
  if (std::int64_t negative = 0; parse_all(text, negative))
    return std::to_string(negative) == text;
  double decimal = 0;
  return text.find_first_of(".e") != std::string_view::npos && parse_all(text, decimal)
         && number_text(decimal) == text;
}

} // namespace leat
