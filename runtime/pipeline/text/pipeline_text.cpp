#include "runtime/pipeline/text/pipeline_text.hpp"

#include "runtime/base/map_parameters.hpp"
#include "runtime/base/number_text.hpp"
#include "runtime/base/text.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/pipeline/text/pipeline_builder.hpp"
#include "runtime/pipeline/text/pipeline_lexer.hpp"
#include "runtime/pipeline/text/pipeline_syntax.hpp"

#include <leat/pipeline.hpp>

#include <algorithm>
#include <utility>
#include <variant>

namespace leat {

namespace {

const operator_type& operator_of(const operator_node& x) {
  if (const auto* found = find_operator(x.op))
    return *found;
  throw error(errc::invalid_argument,
              {.stage = "pipeline text", .got = "operator " + excerpt(x.op)});
}

struct value_printer {
  std::string operator()(bool x) const { return x ? "true" : "false"; }
  std::string operator()(std::uint64_t x) const { return std::to_string(x); }
  std::string operator()(double x) const { return number_text(x); }
  std::string operator()(const std::string& x) const { return in_quotes(x); }
  template <class T>
  std::string operator()(const std::vector<T>& xs) const {
    return '[' + listed(xs, *this) + ']';
  }
};

/// A function's parameter, or an element of one: as a number or flag if it reads as one.
std::string scalar_text(const std::string& x) {
  return x == "true" || x == "false" || is_number(x) ? x : in_quotes(x);
}

std::string assignment_text(const map_parameter& x) {
  const auto elements = split_list(x.value);
  const bool is_list = elements.size() > 1
                       && std::none_of(elements.begin(), elements.end(),
                                       [](const auto& element) { return element.empty(); });
  return x.name + '='
         + (is_list ? '[' + listed(elements, scalar_text) + ']' : scalar_text(x.value));
}

/// `x` has the parameters among its options.
std::string parameters_text(const operator_type& x, const std::string& parameters) {
  const auto words = split_parameters(parameters);
  const bool is_clear =
      words && std::none_of(words->begin(), words->end(), [&](const auto& word) {
        return std::any_of(x.options.begin(), x.options.end(), [&](const auto& option) {
          return option.is_how && option.name == word.name;
        });
      });
  return is_clear ? listed(*words, assignment_text) : in_quotes(parameters);
}

std::string option_text(const operator_type& x, const operator_option& option,
                        const option_value& value) {
  if (option.type == option_type::parameters)
    return parameters_text(x, std::get<std::string>(value));
  const auto* texts = std::get_if<std::vector<std::string>>(&value);
  if (option.type == option_type::listed_texts && texts && !texts->empty())
    return listed(*texts, value_printer{});
  const bool named = option.named || option.type == option_type::listed_texts;
  return (named ? std::string{option.text_name()} + '=' : "") + std::visit(value_printer{}, value);
}

enum class options_shown : std::uint8_t { all, changed };

std::string options_text(const operator_node& x, options_shown which = options_shown::all) {
  std::string options;
  const auto& type = operator_of(x);
  for (const auto& option : type.options) {
    const auto& value = x.value(option.name);
    if ((which == options_shown::changed || option.only_if_changed) && option.preset == value)
      continue;
    if (const auto text = option_text(type, option, value); !text.empty())
      options += (options.empty() ? "" : ", ") + text;
  }
  return options;
}

std::string call_text(const operator_node& x) {
  return x.op + '(' + options_text(x) + ')';
}

void print(const operator_node& root, const std::string& indent, std::string& to);

void print_join(const operator_node& x, const std::string& indent, std::string& to) {
  to += x.op + '(';
  const char* gap = "\n";
  for (const auto& input : x.inputs) {
    to += std::exchange(gap, ",\n") + indent + "  ";
    print(*input, indent + "  ", to);
  }
  if (const auto options = options_text(x); !options.empty())
    to += ",\n" + indent + "  " + options;
  to += '\n' + indent + ')';
}

/// Prints an expression whose first line is already indented.
void print(const operator_node& root, const std::string& indent, std::string& to) {
  std::vector<const operator_node*> steps;
  const auto* first = &root;
  for (; operator_of(*first).role == operator_role::step; first = first->inputs.front().get())
    steps.push_back(first);
  if (operator_of(*first).role == operator_role::join)
    print_join(*first, indent, to);
  else
    to += call_text(*first);
  for (auto x = steps.rbegin(); x != steps.rend(); ++x)
    to += '\n' + indent + "  ." + call_text(**x);
}

} // namespace

std::string to_string(const pipeline& x) {
  std::string text;
  print(x.root(), "", text);
  return text + '\n';
}

std::string short_call(const operator_node& x) {
  return x.op + '(' + options_text(x, options_shown::changed) + ')';
}

pipeline parse_pipeline(std::string_view text) {
  return build_pipeline(parse_syntax(text));
}

} // namespace leat
