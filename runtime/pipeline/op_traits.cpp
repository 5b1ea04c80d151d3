#include "runtime/pipeline/op_traits.hpp"

#include <algorithm>
#include <array>
#include <variant>

namespace leat {

namespace {

constexpr std::array<std::string_view, 8> indexed_operators{
    "shuffle", "map", "take", "skip", "repeat", "enumerate", "zip", "concat"};

} // namespace

bool is_indexed(const operator_node& x) {
  if (x.is_source())
    return x.data != nullptr;
  return std::find(indexed_operators.begin(), indexed_operators.end(), x.op)
             != indexed_operators.end()
         && std::all_of(x.inputs.begin(), x.inputs.end(),
                        [](const auto& input) { return is_indexed(*input); });
}

bool probes_content(const operator_node& x) {
  if (x.op == "filter")
    return !x.filter->of_id;
  if (x.op == "flat_map")
    return !x.flat_map->children;
  if (x.op == "mix")
    return !x.get<std::string>("cost").empty() && x.get<std::string>("rule") != "random";
  return x.op == "scan" || x.op == "pack" || x.op == "read_files";
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

shuffle_kind kind_of(const operator_node& shuffle) {
  const auto& kind = shuffle.get<std::string>("kind");
  return kind == "full"       ? shuffle_kind::full
         : kind == "windowed" ? shuffle_kind::windowed
                              : shuffle_kind::none;
}

epoch_end end_of(const operator_node& batch) {
  const auto& word = batch.get<std::string>("end");
  if (word == "drop")
    return epoch_end::drop;
  if (word == "mask")
    return epoch_end::mask;
  if (word == "cycle")
    return epoch_end::cycle;
  if (is_once(batch))
    return epoch_end::mask;
  return is_indexed(*batch.inputs.front()) ? epoch_end::drop : epoch_end::cycle;
}

std::string_view name_of(epoch_end x) {
  switch (x) {
  case epoch_end::drop:
    return "drop";
  case epoch_end::mask:
    return "mask";
  case epoch_end::cycle:
    return "cycle";
  case epoch_end::automatic:
    break;
  }
  return "auto";
}

} // namespace leat
