#include "runtime/pipeline/text/pipeline_arguments.hpp"

#include "runtime/base/number_text.hpp"
#include "runtime/base/text.hpp"
#include "runtime/pipeline/mix_weights.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace leat {

namespace {

using texts = std::vector<std::string>;

const char* needed_for(option_type type) {
  switch (type) {
  case option_type::flag:
    return "true or false";
  case option_type::number:
    return "a whole number";
  case option_type::real:
    return "a number";
  case option_type::numbers:
    return "a list of whole numbers: [3, 32, 32]";
  case option_type::ratios:
    return "a list of numbers: [0.7, 0.2, 0.1]";
  case option_type::text:
    return "a text in quotes";
  case option_type::texts:
  case option_type::listed_texts:
    return "a list of texts: [\"a\", \"b\"]";
  case option_type::parameters:
    return "values by name, or one text in quotes";
  }
  return "another value";
}

/// How an error describes a value that it got.
struct value_describer {
  std::string operator()(bool x) const { return x ? "true" : "false"; }
  std::string operator()(std::uint64_t x) const { return std::to_string(x); }
  std::string operator()(std::int64_t x) const { return std::to_string(x); }
  std::string operator()(double x) const { return number_text(x); }
  std::string operator()(const std::string& x) const { return excerpt(x); }
  std::string operator()(const std::vector<syntax_value>&) const { return "this list"; }
};

std::string describe(const syntax_value& x) {
  return std::visit(value_describer{}, x.data);
}

std::string describe(const syntax_argument& x) {
  if (!x.expression)
    return describe(x.value);
  return x.expression->named ? excerpt(x.expression->first.word) : "a pipeline";
}

const text_position& place_of_value(const syntax_argument& x) {
  return x.expression ? x.at : x.value.at;
}

template <class T>
std::optional<option_value> single(const syntax_value& x) {
  if (const auto* data = std::get_if<T>(&x.data))
    return *data;
  return std::nullopt;
}

std::optional<option_value> real_number(const syntax_value& x) {
  if (const auto* whole = std::get_if<std::uint64_t>(&x.data))
    return static_cast<double>(*whole);
  if (const auto* negative = std::get_if<std::int64_t>(&x.data))
    return static_cast<double>(*negative);
  return single<double>(x);
}

/// Throws `errc::invalid_argument` for numbers that are no weights.
std::optional<option_value> ratios(const syntax_value& x) {
  const auto* elements = std::get_if<std::vector<syntax_value>>(&x.data);
  if (!elements)
    return std::nullopt;
  std::vector<double> numbers;
  for (const auto& element : *elements) {
    const auto number = real_number(element);
    if (!number)
      return std::nullopt;
    numbers.push_back(std::get<double>(*number));
  }
  return whole_weights(numbers);
}

template <class T>
std::optional<option_value> list_of(const syntax_value& x) {
  const auto* elements = std::get_if<std::vector<syntax_value>>(&x.data);
  if (!elements)
    return std::nullopt;
  std::vector<T> result;
  for (const auto& element : *elements) {
    const auto* data = std::get_if<T>(&element.data);
    if (!data)
      return std::nullopt;
    result.push_back(*data);
  }
  return result;
}

std::optional<option_value> convert(const syntax_value& x, option_type to) {
  switch (to) {
  case option_type::flag:
    return single<bool>(x);
  case option_type::number:
    return single<std::uint64_t>(x);
  case option_type::real:
    return real_number(x);
  case option_type::numbers:
    return list_of<std::uint64_t>(x);
  case option_type::ratios:
    return ratios(x);
  case option_type::text:
  case option_type::parameters:
    return single<std::string>(x);
  case option_type::texts:
  case option_type::listed_texts:
    return list_of<std::string>(x);
  }
  return std::nullopt;
}

/// A function's parameter as written in the parameter text; nothing for a value that cannot be
/// written there.
std::optional<std::string> parameter_text(const syntax_value& x) {
  const auto* text = std::get_if<std::string>(&x.data);
  if (text && text->find_first_of(" \t\n\v\f\r") != std::string::npos)
    return std::nullopt;
  const auto* list = std::get_if<std::vector<syntax_value>>(&x.data);
  if (!list)
    return text ? *text : describe(x);
  std::string joined;
  for (const auto& element : *list) {
    const auto part =
        element.data.index() == x.data.index() ? std::nullopt : parameter_text(element);
    if (!part || part->empty() || part->find(',') != std::string::npos)
      return std::nullopt;
    joined += (joined.empty() ? "" : ",") + *part;
  }
  return joined;
}

/// Assigns the arguments of one call to its operator's options.
class argument_reader {
public:
  argument_reader(const operator_type& op, text_errors& errors)
      : op_(op), errors_(errors), values_(op.options.size()), given_(op.options.size()),
        parameters_at_(static_cast<std::size_t>(
            std::find_if(op.options.begin(), op.options.end(),
                         [](const auto& x) { return x.type == option_type::parameters; })
            - op.options.begin())) {}

  void place(const syntax_argument& x) {
    if (!x.name.empty())
      place_by_name(x);
    else if (by_name_)
      errors_.add(x.at, "a value without a name", "its name: values in order come first");
    else
      place_in_order(x);
  }

  /// An argument of a join; its pipelines belong to no option.
  void place_in_join(const syntax_argument& x) {
    const std::string word{op_.word};
    if (x.expression && by_name_)
      errors_.add(x.at, "a pipeline after options", "pipelines first in " + word);
    else if (!x.expression && op_.options.empty())
      errors_.add(x.at, "a value", "only pipelines, without names, in " + word);
    else if (!x.expression && x.name.empty())
      errors_.add(x.at, "a value without a name", "pipelines, then options by name, in " + word);
    else if (!x.expression)
      place_by_name(x);
  }

  void fill_presets(const text_position& call) {
    if (is_default_real_ && !parameters_.contains("type"))
      add_word(values_[parameters_at_], "type", "f64");
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const auto& option = op_.options[i];
      if (given_[i])
        continue;
      if (!option.preset)
        errors_.add(call, std::string{op_.word} + " without " + std::string{option.text_name()},
                    element_needed(option));
      values_[i] = option.preset;
    }
  }

  /// The call with all options. Only valid if no error was added.
  operator_node result() {
    operator_node x{.op = std::string{op_.word}};
    for (std::size_t i = 0; i < values_.size(); ++i)
      x.options.push_back({std::string{op_.options[i].name}, std::move(*values_[i])});
    return x;
  }

private:
  static const char* element_needed(const operator_option& x) {
    return needed_for(x.type == option_type::listed_texts ? option_type::text : x.type);
  }

  void place_in_order(const syntax_argument& x) {
    if (next_ < op_.options.size() && op_.options[next_].type == option_type::listed_texts)
      append_text(x);
    else if (next_ < op_.options.size())
      set(next_++, x);
    else
      errors_.add(x.at, describe(x),
                  "no more than " + std::to_string(next_) + " values of " + std::string{op_.word});
  }

  void place_by_name(const syntax_argument& x) {
    by_name_ = true;
    const auto& options = op_.options;
    const bool has_parameters = parameters_at_ < options.size();
    const auto found = std::find_if(options.begin(), options.end(), [&](const auto& option) {
      return (option.text_name() == x.name || option.name == x.name)
             && (!has_parameters || option.is_how); // all other names are the function's
    });
    if (found == options.end() && has_parameters)
      return append_parameter(x);
    if (found == options.end())
      errors_.add(x.at, excerpt(x.name), option_names());
    else
      set(static_cast<std::size_t>(found - options.begin()), x);
  }

  void set(std::size_t i, const syntax_argument& x) {
    const auto& option = op_.options[i];
    if (given_[i])
      return errors_.add(x.at, excerpt(option.text_name()) + " once more", "one value of a name");
    given_[i] = true;
    try {
      if (!x.expression)
        values_[i] = convert(x.value, option.type);
    } catch (const error& problem) {
      return errors_.add(place_of_value(x), problem.details().got, problem.details().needed);
    }
    if (!values_[i])
      errors_.add(place_of_value(x), describe(x),
                  needed_for(option.type) + (" as " + std::string{option.text_name()}));
  }

  void append_text(const syntax_argument& x) {
    given_[next_] = true;
    if (!values_[next_])
      values_[next_] = texts{};
    const auto* text = x.expression ? nullptr : std::get_if<std::string>(&x.value.data);
    if (text)
      std::get<texts>(*values_[next_]).push_back(*text);
    else
      errors_.add(x.at, describe(x), element_needed(op_.options[next_]));
  }

  void append_parameter(const syntax_argument& x) {
    const auto value = parameter_text(x.value);
    if (!value)
      errors_.add(x.value.at, describe(x.value),
                  "a value without spaces; in a list no lists, no empty texts, no commas");
    else if (next_ > parameters_at_)
      errors_.add(x.at, excerpt(x.name), "no names after all parameters as one text");
    else if (!parameters_.insert(x.name).second)
      errors_.add(x.at, excerpt(x.name) + " once more", "one value of a name");
    else
      add_word(values_[parameters_at_], x.name, *value);
    given_[parameters_at_] = true;
    if (is_default(x))
      is_default_real_ = std::holds_alternative<double>(x.value.data);
  }

  /// The value of a default_field.
  bool is_default(const syntax_argument& x) const {
    const auto* name = values_.front() ? std::get_if<std::string>(&*values_.front()) : nullptr;
    return name && *name == "default_field@1" && x.name == "value";
  }

  void add_word(std::optional<option_value>& to, const std::string& name,
                const std::string& value) {
    if (!to)
      to = std::string{};
    auto& text = std::get<std::string>(*to);
    text += (text.empty() ? "" : " ") + name + '=' + value;
  }

  std::string option_names() const {
    std::string names;
    for (const auto& x : op_.options)
      names += (names.empty() ? "one of " : ", ") + std::string{x.text_name()};
    return names;
  }

  const operator_type& op_;
  text_errors& errors_;
  std::vector<std::optional<option_value>> values_;
  /// The options that the call gives, rightly or wrongly.
  std::vector<bool> given_;
  /// Index of the option that is a function's parameters; if there is none, the number of options.
  std::size_t parameters_at_;
  /// Index of the option for the next value without a name.
  std::size_t next_ = 0;
  bool by_name_ = false;
  /// Names of a function's parameters so far.
  std::set<std::string> parameters_;
  /// A default with a point or an exponent, which the function could not tell from a whole number:
  /// parameters are texts, and that of 1.0 is "1".
  bool is_default_real_ = false;
};

} // namespace

std::optional<operator_node> read_arguments(const operator_type& op, const syntax_call& call,
                                            text_errors& errors) {
  const auto before = errors.size();
  argument_reader reader{op, errors};
  for (const auto& x : call.arguments)
    op.role == operator_role::join ? reader.place_in_join(x) : reader.place(x);
  reader.fill_presets(call.at);
  if (errors.size() != before)
    return std::nullopt;
  return reader.result();
}

} // namespace leat
