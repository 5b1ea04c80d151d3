#include "runtime/pipeline/op_traits.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/pipeline/operator_type.hpp"
#include "runtime/pipeline/option_words.hpp"

#include <algorithm>
#include <variant>

namespace leat {

bool is_batch(const operator_node& x) {
  const auto* type = find_operator(x.op);
  return type && type->traits.is_batch;
}

const operator_node* find_end(const operator_node& root) {
  const auto* x = &root;
  for (;; x = x->inputs.front().get()) {
    const auto* type = find_operator(x->op);
    if (type && type->traits.ends_pipeline)
      return x;
    if (!type || !type->traits.is_map || x->inputs.empty())
      return nullptr;
  }
}

void check_has_batch(const operator_node& root) {
  if (!is_batch(root))
    refuse_argument("pipeline", "no batch()", "batch(rows) as the last call");
}

bool is_map(const operator_node& x) {
  return type_of(x).traits.is_map;
}

bool is_indexed(const operator_node& x) {
  if (x.is_source())
    return x.data != nullptr;
  const auto* type = find_operator(x.op);
  return type && type->forms.indexed
         && std::all_of(x.inputs.begin(), x.inputs.end(),
                        [](const auto& input) { return is_indexed(*input); });
}

bool probes_content(const operator_node& x) {
  const auto looks = type_of(x).traits.probes_content;
  return looks && looks(x);
}

bool is_expensive(const operator_node& root) {
  bool expensive = false;
  for_each_operator(root, [&](const operator_node& x) {
    expensive = expensive || x.stream || x.feed || type_of(x).traits.is_expensive;
  });
  return expensive;
}

std::string name_of(const operator_node& x) {
  for (const auto& option : x.options)
    if (option.name == "name")
      return x.op + ' ' + std::get<std::string>(option.value);
  return x.op;
}

bool is_once(const operator_node& root) {
  return any_source(root, [](const operator_node& x) { return x.feed != nullptr; });
}

epoch_end end_of(const operator_node& batch) {
  const auto end =
      value_of(batch.get<std::string>("end"), epoch_ends).value_or(epoch_end::automatic);
  if (end != epoch_end::automatic)
    return end;
  if (is_once(batch))
    return epoch_end::mask;
  return is_indexed(*batch.inputs.front()) ? epoch_end::drop : epoch_end::cycle;
}

std::string_view name_of(epoch_end x) noexcept {
  for (const auto& word : epoch_ends)
    if (word.value == x)
      return word.word;
  return epoch_ends.front().word;
}

} // namespace leat
