#pragma once

#include "runtime/pipeline/operator_node.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace leat {

/// One operator as a snapshot keeps it, with its inputs: an `operator_node` without its functions.
struct operator_facts {
  std::string op;
  std::vector<node_option> options = {};
  /// For sources only.
  std::optional<source_facts> data = {};
  /// Version of what the operator writes into the states of lanes: see operator_forms. 0: it writes
  /// nothing.
  std::uint32_t state_version = 0;
  std::vector<operator_facts> inputs = {};

  bool is_source() const noexcept { return inputs.empty(); }

  /// The value of this option; null if the operator has no option of this name.
  const option_value* find(std::string_view name) const noexcept {
    for (const auto& x : options)
      if (x.name == name)
        return &x.value;
    return nullptr;
  }
  /// The value as a T; null if the operator has no option of this name and type.
  template <class T>
  const T* find(std::string_view name) const noexcept {
    return std::get_if<T>(find(name));
  }

  /// The option of this name; T{} if the operator has none of this name and type.
  template <class T>
  T get(std::string_view name) const {
    const auto* found = find<T>(name);
    return found ? *found : T{};
  }

  friend bool operator==(const operator_facts&, const operator_facts&) = default;
};

/// Everything about a pipeline that a snapshot keeps, in order to refuse a different pipeline: a
/// plain value.
struct pipeline_facts {
  /// The batch, down to the sources.
  operator_facts root = {};
  /// L as resolved, never 0.
  std::uint64_t lanes = 0;
  /// The order is found by iterators: lanes have states.
  bool by_iterators = false;

  std::uint64_t batch_rows() const { return root.get<std::uint64_t>("rows"); }

  friend bool operator==(const pipeline_facts&, const pipeline_facts&) = default;
};

/// Facts of a pipeline that ends in a batch, with L as resolved. Opens the data, once the tree is
/// known to be within the limits. Throws `errc::invalid_argument` without a batch and above the
/// limits.
pipeline_facts describe(const pipeline& x, std::uint64_t lanes);

/// Calls `visit` for every operator in data order: inputs first, from left to right.
void for_each_operator(const operator_facts& root,
                       const std::function<void(const operator_facts&)>& visit);

/// The root of a pipeline. False for an operator that leat does not know.
bool is_batch(const operator_facts& x);

/// True for a map as an operator, and not for a source that is called so.
bool is_map(const operator_facts& x);

/// The operators' names without maps: "zip(tar_shards.shuffle, count).take.batch".
std::string shape_of(const operator_facts& root);

} // namespace leat
