#pragma once

#include "runtime/pipeline/operator_node.hpp"

#include <leat/pipeline.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// Where an operator stands in the text: first; first, with pipelines in its brackets and options
/// by name behind them; behind a dot.
enum class operator_role : std::uint8_t { source, join, step };

enum class option_type : std::uint8_t {
  flag,
  number,
  numbers,
  text,
  texts,
  /// One text or more, given in order; only the first option can be of this type.
  listed_texts,
  /// Of a function: all values by name, or one text in their place.
  parameters,
};

struct operator_option {
  std::string_view name;
  option_type type;
  /// Empty: must be given.
  std::optional<option_value> preset = {};
  /// Whether it is printed with its name.
  bool named = true;
};

/// How one operator stands in the text form of pipelines, and how it is made.
struct pipeline_operator {
  std::string_view word;
  operator_role role;
  /// All options of its operators, in their order.
  std::vector<operator_option> options;
  /// Calls the public function, which checks the values. `call` has all options; `inputs` are one
  /// for a step, at least one for a join.
  pipeline (*make)(const operator_node& call, const std::vector<pipeline>& inputs);
};

/// Whether a value is of the type that options of this type have.
bool holds(const option_value& x, option_type type);

/// All operators, in the order of docs/pipelines.md.
const std::vector<pipeline_operator>& pipeline_operators();

/// The operator of this name; null for none.
const pipeline_operator* find_operator(std::string_view word);

} // namespace leat
