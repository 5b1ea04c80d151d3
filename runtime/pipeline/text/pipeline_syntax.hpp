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

/// How deep the brackets of a pipeline's text may be nested: the parser is recursive.
inline constexpr std::size_t max_nesting = 200;

struct syntax_value {
  text_position at;
  std::variant<bool, std::uint64_t, std::int64_t, double, std::string, std::vector<syntax_value>>
      data;
};

struct syntax_expression;

/// A value or an expression, and the name before it, if any.
struct syntax_argument {
  text_position at;
  /// Empty if it is given by its place.
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

/// The result of `first`, changed by the steps after it.
struct syntax_expression {
  text_position at;
  /// A call, or a name if `named`; names have no arguments.
  syntax_call first;
  bool named = false;
  std::vector<syntax_call> steps = {};
};

struct syntax_definition {
  text_position at;
  std::string name;
  syntax_expression value;
};

/// A pipeline's text as written: names, operators and values have not been checked yet.
struct syntax_tree {
  std::vector<syntax_definition> definitions;
  syntax_expression result;
};

/// Reads by the grammar of docs/pipelines.md. Throws `text_error` at the first violation.
syntax_tree parse_syntax(std::string_view text);

} // namespace leat
