#pragma once

#include "runtime/pipeline/text/pipeline_lexer.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace leat {

/// Brackets in one another that a pipeline's text may have: what reads it recurses.
inline constexpr std::size_t max_nesting = 200;

struct syntax_value {
  text_position at;
  std::variant<bool, std::uint64_t, std::int64_t, double, std::string, std::vector<syntax_value>>
      data;
};

struct syntax_expression;

/// A value or an expression, with the name in front of it.
struct syntax_argument {
  text_position at;
  /// Empty where it is given in order.
  std::string name = {};
  syntax_value value = {};
  /// Null for a value.
  std::unique_ptr<syntax_expression> expression = {};
};

struct syntax_call {
  text_position at;
  std::string word;
  std::vector<syntax_argument> arguments = {};
};

/// What `first` gives, changed by the steps after it.
struct syntax_expression {
  text_position at;
  /// A call, or a name where `named`; names have no arguments.
  syntax_call first;
  bool named = false;
  std::vector<syntax_call> steps = {};
};

struct syntax_definition {
  text_position at;
  std::string name;
  syntax_expression value;
};

/// A pipeline's text as it stands there: names, operators and values not looked at yet.
struct syntax_tree {
  std::vector<syntax_definition> definitions;
  syntax_expression result;
};

/// Reads by the grammar of docs/pipelines.md. Throws `text_error` at the first break of it.
syntax_tree parse_syntax(std::string_view text);

} // namespace leat
