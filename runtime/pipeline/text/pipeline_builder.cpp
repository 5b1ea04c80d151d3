#include "runtime/pipeline/text/pipeline_builder.hpp"

#include "runtime/base/text.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/pipeline/text/pipeline_arguments.hpp"
#include "runtime/pipeline/text/text_errors.hpp"

#include <leat/sources.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace leat {

namespace {

/// The size of a tree, with all names replaced by what they stand for: names within names grow
/// fast.
struct extent {
  std::size_t operators = 1;
  std::size_t height = 1;
  /// Depth of brackets when it is printed: a source has those of a call and of a list.
  std::size_t nesting = 2;

  bool fits() const {
    return operators <= max_tree_size.operators && height <= max_tree_size.height
           && nesting <= max_nesting;
  }
};

struct built {
  pipeline value;
  extent size = {};
};

extent size_of_step(extent input) {
  return {input.operators + 1, input.height + 1, input.nesting};
}

extent size_of_join(const std::vector<built>& inputs) {
  extent x{1, 0, 0};
  for (const auto& input : inputs) {
    x.operators += input.size.operators;
    x.height = std::max(x.height, input.size.height);
    x.nesting = std::max(x.nesting, input.size.nesting);
  }
  // At least the depth of a source: a join may have options with lists.
  return {x.operators, x.height + 1, std::max(x.nesting + 1, extent{}.nesting)};
}

/// Takes the place of an operator that could not be made, so that those after it are checked all
/// the same.
built stand_in() {
  return {.value = count(1)};
}

std::string words_of(operator_role role) {
  std::string words;
  for (const auto& x : operator_types())
    if (x.role == role)
      words += (words.empty() ? "" : ", ") + std::string{x.word};
  return words;
}

class builder {
public:
  pipeline build(const syntax_tree& text) {
    for (const auto& x : text.definitions)
      define(x);
    auto result = expression(text.result);
    errors_.check();
    return std::move(result.value);
  }

private:
  void define(const syntax_definition& x) {
    auto value = expression(x.value);
    if (!names_.emplace(x.name, std::move(value)).second)
      errors_.add(x.at, excerpt(x.name) + " defined twice", "a new name");
  }

  built expression(const syntax_expression& x) {
    auto result = x.named ? named(x.first) : first(x.first);
    for (const auto& call : x.steps)
      result = step(std::move(result), call);
    return result;
  }

  built named(const syntax_call& x) {
    if (const auto found = names_.find(x.word); found != names_.end())
      return found->second;
    errors_.add(x.at, excerpt(x.word), "a name that was defined above, as name = ...; or a call");
    return stand_in();
  }

  built first(const syntax_call& call) {
    const auto* op = find_operator(call.word);
    if (op && op->role == operator_role::source)
      return source(*op, call);
    auto inputs = inputs_of(call);
    if (op && op->role == operator_role::join)
      return join(*op, call, inputs);
    errors_.add(call.at, excerpt(call.word),
                "a source (" + words_of(operator_role::source) + ") or a join ("
                    + words_of(operator_role::join) + ")");
    return stand_in();
  }

  built source(const operator_type& op, const syntax_call& call) {
    auto result = stand_in();
    if (const auto arguments = read_arguments(op, call, errors_))
      make(op, call, *arguments, {}, {}, result);
    return result;
  }

  /// The pipelines among the arguments of a call.
  std::vector<built> inputs_of(const syntax_call& call) {
    std::vector<built> inputs;
    for (const auto& x : call.arguments)
      if (x.expression)
        inputs.push_back(expression(*x.expression));
    return inputs;
  }

  built join(const operator_type& op, const syntax_call& call, const std::vector<built>& inputs) {
    auto result = stand_in();
    std::vector<pipeline> values;
    values.reserve(inputs.size());
    for (const auto& x : inputs)
      values.push_back(x.value);
    if (const auto arguments = read_arguments(op, call, errors_))
      make(op, call, *arguments, values, size_of_join(inputs), result);
    return result;
  }

  /// Returns its input if the step cannot be made.
  built step(built input, const syntax_call& call) {
    const auto* op = find_operator(call.word);
    if (!op || op->role != operator_role::step)
      errors_.add(call.at, excerpt(call.word), "one of " + words_of(operator_role::step));
    else if (const auto arguments = read_arguments(*op, call, errors_))
      make(*op, call, *arguments, {input.value}, size_of_step(input.size), input);
    return input;
  }

  /// Sets the result to what the call makes, or adds the error.
  void make(const operator_type& op, const syntax_call& call, const operator_node& arguments,
            const std::vector<pipeline>& inputs, const extent& size, built& result) {
    if (!size.fits())
      return errors_.add(call.at, excerpt(call.word) + " on too large an input",
                         "at most " + std::to_string(max_tree_size.operators) + " operators, "
                             + std::to_string(max_tree_size.height) + " in a chain, and "
                             + std::to_string(max_nesting) + " nested brackets");
    try {
      result = {op.make(arguments, inputs), size};
    } catch (const error& x) {
      errors_.add(call.at, x);
    }
  }

  std::map<std::string, built> names_;
  text_errors errors_;
};

} // namespace

pipeline build_pipeline(const syntax_tree& text) {
  return builder{}.build(text);
}

} // namespace leat
