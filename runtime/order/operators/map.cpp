#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/map_parameters.hpp"
#include "runtime/children/isolated_map.hpp"
#include "runtime/order/iterator_planner.hpp"
#include "runtime/order/iterators/over_input.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/pipeline/op_traits.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/pipeline/pipeline_registry.hpp"

#include <algorithm>
#include <utility>

namespace leat {

pipeline pipeline::map(map_stage x, map_options options) const {
  check_function_name("map", x.name);
  if (x.make && x.make_together)
    refuse_argument(x.name, "both make and make_together", "one of them");
  if (!x.make_together)
    check_function(x.name, x.make);
  if (options.isolate)
    x = isolated(std::move(x));
  auto next = calling("map", std::move(x.name), std::move(x.parameters));
  if (options.isolate)
    next.options.push_back({"isolate", true});
  next.make = std::move(x.make);
  next.make_together = std::move(x.make_together);
  next.note = std::move(x.note);
  return then(std::move(next));
}

pipeline pipeline::map(std::string name, map_function function, map_options options) const {
  check_function(name, function);
  return map(map_stage{std::move(name), {}, [f = std::move(function)] { return f; }}, options);
}

namespace {

class mapped final : public indexed_over {
public:
  mapped(indexed_form_ptr input, std::size_t number)
      : indexed_over(std::move(input)), number_(number) {}

  std::uint64_t make(const place& at, sample& into, sample_maker& with) const override {
    const auto sample_key = input().make(at, into, with);
    with.map(number_, sample_key, into);
    return sample_key;
  }

private:
  std::size_t number_;
};

/// Does not change the order: workers run the map when they make the items' samples.
class mapped_form final : public over_items {
public:
  mapped_form(iterator_form_ptr input, std::size_t number)
      : over_items(std::move(input)), number_(number) {}

  std::unique_ptr<iterator> begin(const lane_context& lane, const lap& g) const override {
    return input().begin(lane, g);
  }
  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     sample_maker& with) const override {
    const auto sample_key = input().make(from, at, into, with);
    with.map(number_, sample_key, into);
    return sample_key;
  }

private:
  std::size_t number_;
};

void erase_alternatives(field_names& from, std::string_view fields) {
  for (auto rest = fields; !rest.empty();) {
    const auto end = std::min(rest.find(';'), rest.size());
    from.erase(std::string{rest.substr(0, end)});
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

field_names fields_of_map(const operator_node& x, std::vector<field_names>& inputs) {
  auto& fields = inputs.front();
  const auto& name = x.get<std::string>("name");
  if (name == "pad@1" || name == "ragged@1" || name == "truncate@1" || name == "add_tokens@1"
      || name == "normalize_text@1" || name == "cast@1")
    return fields;
  if (name == "default_field@1") {
    fields.insert(parameter_value(x, "field"));
    return fields;
  }
  if (name == "drop_fields@1") {
    for (const auto& dropped : split_list(parameter_value(x, "fields")))
      fields.erase(dropped);
    return fields;
  }
  if (name == "sentencepiece@1" && parameter_value(x, "keep_text") == "false")
    fields.erase(parameter_value(x, "field"));
  if (name == "tokenize@1" && parameter_value(x, "keep_text") != "true")
    fields.erase(parameter_value(x, "field"));
  if (name == "concat_fields@1" || name == "loss_mask@1" || name == "sentencepiece@1"
      || name == "tokenize@1") {
    fields.insert(parameter_value(x, "into"));
    return fields;
  }
  if (name == "select@1") {
    const auto kept = split_list(parameter_value(x, "fields"));
    return {kept.begin(), kept.end()};
  }
  if (name == "rename@1") {
    fields.erase(parameter_value(x, "from"));
    fields.insert(parameter_value(x, "to"));
    return fields;
  }
  const bool is_label = name == "int_label@1";
  if (!is_label && name != "decode_image@1" && name != "train_image@1" && name != "eval_image@1")
    return {};
  erase_alternatives(fields, parameter_value(x, "field"));
  fields.insert(is_label ? "label" : "image");
  return fields;
}

bool is_isolated(const operator_node& x) {
  return x.get<bool>("isolate");
}

std::vector<operator_option> map_operator_options() {
  auto options = function_options();
  options.push_back(only_how(later({"isolate", option_type::flag, false})));
  return options;
}

} // namespace

operator_type map_operator() {
  return {.word = "map",
          .role = operator_role::step,
          .options = map_operator_options(),
          .make =
              [](const operator_node& call, const std::vector<pipeline>& on) {
                return on[0].map(function_of(call, make_map), {.isolate = is_isolated(call)});
              },
          .traits = {.is_map = true, .is_expensive = true, .sure_fields = fields_of_map},
          .forms = {.indexed = [](const operator_node& x, indexed_inputs inputs,
                                  indexed_planner& planner) -> indexed_form_ptr {
                      return std::make_shared<mapped>(std::move(inputs.items.front()),
                                                      planner.add_map(x));
                    },
                    .iterator = [](const operator_node& x, const surroundings& at,
                                   iterator_planner& planner) -> iterator_form_ptr {
                      auto input = planner.build_input(x, at);
                      return std::make_shared<mapped_form>(std::move(input),
                                                           planner.common().add_map(x));
                    }},
          .graph = {.work = [](const operator_node& x) {
            return name_of(x) + (x.note.empty() ? "" : ", " + x.note)
                   + (is_isolated(x) ? ", in child processes" : "");
          }}};
}

} // namespace leat
