#pragma once

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/pipeline/option_words.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

enum class option_type : std::uint8_t {
  flag,
  number,
  /// Any number, also a whole one.
  real,
  numbers,
  /// Numbers of which only the ratios count: as whole numbers, see mix_weights.hpp.
  ratios,
  text,
  texts,
  /// One text or more, given in order; only the first option can have this type.
  listed_texts,
  /// The parameters of a function: all values by name, or one text in their place.
  parameters,
};

struct operator_option {
  std::string_view name;
  option_type type;
  /// The default; empty if the option must be given.
  std::optional<option_value> preset = {};
  /// Whether it is printed with its name.
  bool named = true;
  /// The option only says where data lies, or what the facts about the data say already: it is not
  /// part of what a source is.
  bool is_in_facts = false;
  /// The only values of an option that is a text. Empty: any.
  std::vector<std::string_view> words = {};
  /// The option came after its operator: a node has it only where its value is not the preset, so
  /// that nodes without it, their texts and their snapshots stay what they were.
  bool only_if_changed = false;
  /// It says how samples are made, not which: facts and snapshots do not have it.
  bool is_how = false;
  /// Its name in texts, where that is another: what functions call it. `name` is that of nodes and
  /// snapshots, and texts may have it, too.
  std::string_view written = {};

  std::string_view text_name() const noexcept { return written.empty() ? name : written; }
};

/// Whether a value has the C++ type that options of this type have.
bool holds(const option_value& x, option_type type);

/// An option that must be given, and needs no name.
operator_option plain(std::string_view name, option_type type);

/// The same option, marked as `is_in_facts`.
operator_option in_facts(operator_option x);

/// The same option, marked as `only_if_changed`.
operator_option later(operator_option x);

/// The same option, marked as `is_how`.
operator_option only_how(operator_option x);

/// The same option, with its name in texts.
operator_option written_as(std::string_view text_name, operator_option x);

/// An option whose value is one of an enum's words.
template <class T, std::size_t N>
operator_option one_of(std::string_view name, const option_words<T, N>& words, T preset) {
  operator_option x{.name = name, .type = option_type::text, .preset = word_of(preset, words)};
  for (const auto& word : words)
    x.words.push_back(word.word);
  return x;
}

/// The value that an option's word stands for. Throws `errc::invalid_argument`.
template <class T, std::size_t N>
T value_of(const operator_node& call, const std::string& option, const option_words<T, N>& words) {
  const auto& word = call.get<std::string>(option);
  if (const auto value = value_of(word, words))
    return *value;
  refuse_argument(call.op, option + '=' + excerpt(word), list_of(words));
}

// Operators that call a function.

/// "name" and "parameters".
std::vector<operator_option> function_options();

/// A node that calls this function.
operator_node calling(std::string op, std::string name, std::string parameters);

/// Throws `errc::invalid_argument` for a name without a version.
void check_function_name(const char* op, const std::string& name);

/// Throws `errc::invalid_argument` for an empty function.
template <class Function>
void check_function(const std::string& name, const Function& x) {
  if (!x)
    refuse_argument(name, "no function", "a function");
}

/// The function that a call names, made by one of the registry's functions.
template <class Stage>
Stage function_of(const operator_node& call,
                  Stage (*make)(const std::string&, const std::string&)) {
  return make(call.get<std::string>("name"), call.get<std::string>("parameters"));
}

/// The value of one of a call's parameters; empty if it is not given.
std::string parameter_value(const operator_node& call, std::string_view name);

// Checks of single options.

/// Throws `errc::invalid_argument` for an empty field name.
void check_field(const char* op, const std::string& field);

} // namespace leat
