#pragma once

#include "runtime/pipeline/pipeline_facts.hpp"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace leat::test {

inline operator_facts source_facts_of(std::string op, std::vector<node_option> options,
                                      source_facts data) {
  return {.op = std::move(op), .options = std::move(options), .data = data};
}

/// Adds an operator after `input`.
inline operator_facts then(operator_facts input, std::string op,
                           std::vector<node_option> options = {}) {
  operator_facts x{.op = std::move(op), .options = std::move(options)};
  x.inputs.push_back(std::move(input));
  return x;
}

inline operator_facts join(std::string op, std::vector<operator_facts> inputs) {
  return {.op = std::move(op), .inputs = std::move(inputs)};
}

/// The source count(records).
inline operator_facts count_of(std::uint64_t records) {
  return source_facts_of("count", {{"records", records}, {"bytes", std::uint64_t{8}}},
                         {.files = 1, .records = records, .bytes = 8 * records, .digest = {}});
}

inline operator_facts map_of(operator_facts input, std::string name, std::string parameters = {}) {
  return then(std::move(input), "map",
              {{"name", std::move(name)}, {"parameters", std::move(parameters)}});
}

inline operator_facts shuffle_of(operator_facts input, std::uint64_t seed,
                                 std::string kind = "full", std::uint64_t window = 4) {
  return then(std::move(input), "shuffle",
              {{"seed", seed}, {"kind", std::move(kind)}, {"window", window}});
}

/// Ends a pipeline with a batch of `rows` in `lanes`.
inline pipeline_facts batch_of(operator_facts input, std::uint64_t rows, std::uint64_t lanes,
                               std::vector<std::string> fields = {}) {
  return {then(std::move(input), "batch",
               {{"rows", rows},
                {"lanes", std::uint64_t{0}},
                {"end", std::string{"drop"}},
                {"fields", std::move(fields)}}),
          lanes};
}

/// The first operator of this name in data order; null if there is none.
inline operator_facts* find_operator(operator_facts& root, const std::string& op) {
  for (auto& input : root.inputs)
    if (auto* found = find_operator(input, op))
      return found;
  return root.op == op ? &root : nullptr;
}

/// The operator of this name, which the pipeline must have.
inline operator_facts& stage_of(pipeline_facts& x, const std::string& op) {
  if (auto* found = find_operator(x.root, op))
    return *found;
  throw std::logic_error("no " + op);
}

inline void set_option(operator_facts& x, const std::string& name, option_value value) {
  for (auto& option : x.options)
    if (option.name == name) {
      option.value = std::move(value);
      return;
    }
  throw std::logic_error("no option " + name);
}

} // namespace leat::test
