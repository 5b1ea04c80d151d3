#include "runtime/pipeline/text/pipeline_syntax.hpp"

#include <utility>

namespace leat {

namespace {

/// Recursive descent: one function per rule of the grammar, with two tokens known ahead.
class syntax_parser {
public:
  explicit syntax_parser(std::string_view text)
      : lexer_(text), now_(lexer_.next()), ahead_(lexer_.next()) {}

  syntax_tree tree() {
    syntax_tree x;
    while (now_.kind == token_kind::word && ahead_.is_symbol('='))
      x.definitions.push_back(definition());
    x.result = expression();
    if (now_.kind != token_kind::end)
      refuse("\".\" and an operator, or the end");
    return x;
  }

private:
  [[noreturn]] void refuse(std::string needed) const {
    throw text_error(now_.at, describe(now_), std::move(needed));
  }

  token take() { return std::exchange(now_, std::exchange(ahead_, lexer_.next())); }

  bool accept(char symbol) {
    if (!now_.is_symbol(symbol))
      return false;
    take();
    return true;
  }

  void open(char bracket) {
    if (!now_.is_symbol(bracket))
      refuse(std::string{'"', bracket, '"'});
    if (++nesting_ > max_nesting)
      refuse("brackets nested at most " + std::to_string(max_nesting) + " deep");
    take();
  }

  /// Reads the separator of a list's elements, or its end; true at the end of the list.
  bool ends(char bracket, bool first) {
    const bool parted = !first && accept(',');
    if (accept(bracket))
      return --nesting_, true;
    if (!first && !parted)
      refuse(std::string{"\",\" or \""} + bracket + '"');
    return false;
  }

  syntax_definition definition() {
    if (now_.is_flag())
      refuse("a name other than true or false");
    syntax_definition x{.at = now_.at, .name = std::string{take().raw}, .value = {}};
    take();
    x.value = expression();
    return x;
  }

  syntax_expression expression() {
    if (now_.kind != token_kind::word || now_.is_flag())
      refuse("a source, zip, concat, mix or a name");
    syntax_expression x{.at = now_.at, .first = {}, .named = !ahead_.is_symbol('(')};
    if (x.named)
      x.first = {.at = now_.at, .word = std::string{take().raw}};
    else
      x.first = call();
    while (accept('.'))
      x.steps.push_back(call());
    return x;
  }

  syntax_call call() {
    if (now_.kind != token_kind::word)
      refuse("an operator");
    syntax_call x{.at = now_.at, .word = std::string{take().raw}};
    open('(');
    while (!ends(')', x.arguments.empty()))
      x.arguments.push_back(argument());
    return x;
  }

  syntax_argument argument() {
    syntax_argument x{.at = now_.at};
    const bool is_word = now_.kind == token_kind::word;
    if (is_word && ahead_.is_symbol('=')) {
      x.name = take().raw;
      take();
      x.value = value();
    } else if (is_word && !now_.is_flag()) {
      x.expression = std::make_unique<syntax_expression>(expression());
    } else {
      x.value = value();
    }
    return x;
  }

  syntax_value value() {
    const auto at = now_.at;
    if (now_.is_flag())
      return {at, take().raw == "true"};
    switch (now_.kind) {
    case token_kind::whole:
      return {at, take().whole};
    case token_kind::negative:
      return {at, take().negative};
    case token_kind::decimal:
      return {at, take().decimal};
    case token_kind::text:
      return {at, take().text};
    default:
      if (!now_.is_symbol('['))
        refuse("a value: a text in quotes, a number, true, false or a list");
      return {at, list()};
    }
  }

  std::vector<syntax_value> list() {
    std::vector<syntax_value> xs;
    open('[');
    while (!ends(']', xs.empty()))
      xs.push_back(value());
    return xs;
  }

  pipeline_lexer lexer_;
  token now_;
  token ahead_;
  std::size_t nesting_ = 0;
};

} // namespace

syntax_tree parse_syntax(std::string_view text) {
  return syntax_parser{text}.tree();
}

} // namespace leat
