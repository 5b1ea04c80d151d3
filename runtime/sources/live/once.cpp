#include "runtime/base/error_in_flight.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/pipeline/pipeline_registry.hpp"
#include "runtime/sources/live/memory_records.hpp"
#include "runtime/sources/live/once_origin.hpp"
#include "runtime/sources/live/reading_feed.hpp"

#include <leat/once.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leat {

namespace {

pipeline without_journal(std::string op, std::vector<node_option> options,
                         const std::shared_ptr<once_input>& input) {
  return feed_pipeline(
      std::move(op), std::move(options),
      [input] { return std::make_shared<reading_feed>(input, std::make_unique<memory_records>()); },
      std::make_shared<const once_origin>(once_origin{.input = input}));
}

} // namespace

pipeline standard_input() {
  return without_journal("standard_input", {}, standard_input_lines());
}

pipeline once(std::string name, std::function<bool(sample&)> next) {
  if (name.empty() || !next)
    refuse_argument("once source \"" + name + '"', name.empty() ? "no name" : "no function",
                    "a name (\"queue@1\") and a function");
  const auto input = function_samples(name.substr(0, name.rfind('@')), std::move(next));
  return without_journal("once", {{"name", std::move(name)}}, input);
}

operator_type standard_input_operator() {
  return {
      .word = "standard_input",
      .role = operator_role::source,
      .make = [](const operator_node&, const std::vector<pipeline>&) { return standard_input(); },
      .traits = {.only_field = "text"},
      .forms = {.state_version = 1},
      .graph = {.state = [](const operator_node&, const graph_facts&) -> state_sizes {
        return {"a number", 3, 3};
      }}};
}

operator_type once_operator() {
  return {.word = "once",
          .role = operator_role::source,
          .options = {plain("name", option_type::text)},
          .make =
              [](const operator_node& call, const std::vector<pipeline>&) {
                const auto& name = call.get<std::string>("name");
                return once(name, registered_once(name));
              },
          .forms = {.state_version = 1},
          .graph = {.state = [](const operator_node&, const graph_facts&) -> state_sizes {
            return {"a number", 3, 3};
          }}};
}

} // namespace leat
