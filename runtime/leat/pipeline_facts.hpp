#pragma once

#include <leat/export.hpp>
#include <leat/pipeline.hpp>
#include <leat/remote_options.hpp>
#include <leat/source_facts.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace leat {

// What a pipeline consists of, as plain values: to be looked at, printed, or held against another.

/// The value of one of an operator's options.
using option_value = std::variant<bool, std::uint64_t, double, std::string,
                                  std::vector<std::uint64_t>, std::vector<std::string>>;

struct node_option {
  /// As in the text form (docs/pipelines.md): "seed".
  std::string name;
  option_value value;

  friend bool operator==(const node_option&, const node_option&) = default;
};

/// An operator without its functions, with its inputs.
struct operator_facts {
  /// As in the text form: "tar_shards", "shuffle", "zip".
  std::string op;
  /// All options in the order of the documentation, also those that have their default; only the
  /// options that an operator got after its first version are left out where they have it.
  std::vector<node_option> options = {};
  /// What a source holds; empty for other operators, and if the data was not opened.
  std::optional<source_facts> data = {};
  /// Version of what the operator writes into the states of lanes, in snapshots. 0: it writes
  /// nothing, or these are not the facts of a snapshot.
  std::uint32_t state_version = 0;
  /// Version of the rules by which the operator takes records and fields from its data, in
  /// snapshots. 0: the first rules, or these are not the facts of a snapshot.
  std::uint32_t reading_version = 0;
  /// In the order of the arguments; none for sources.
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

/// Everything about a pipeline that a snapshot keeps, in order to refuse a different pipeline.
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

/// Entries of data that are no part of any record, for one reason.
struct data_passed_over {
  /// "hard_link"
  std::string why = {};
  /// "hard links": what they are; in the singular if it is one.
  std::string what = {};
  std::uint64_t count = 0;
  /// The first of them.
  std::string first = {};

  friend bool operator==(const data_passed_over&, const data_passed_over&) = default;
};

/// The last operator with all before it, with or without a batch. Opens no data.
LEAT_API operator_facts operators_of(const pipeline& x);
/// The last operator with all before it, and what each source holds. Opens the data; throws what
/// that throws.
LEAT_API operator_facts operators_with_data(const pipeline& x);

/// What the sources pass over in their data: links that lead nowhere, files with other endings,
/// hard links in archives, hidden entries. Members of archives that are read in sequence are not
/// among it: they are found while a job reads. Opens the data; throws what that throws.
LEAT_API std::vector<data_passed_over> passed_over_in(const pipeline& x);

/// Calls `visit` for every operator in data order: inputs first, from left to right.
LEAT_API void for_each_operator(const operator_facts& root,
                                const std::function<void(const operator_facts&)>& visit);

/// True for a map as an operator, and not for a source that is called so.
LEAT_API bool is_map(const operator_facts& x);

/// The operators' names without maps: "zip(tar_shards.shuffle, count).take.batch".
LEAT_API std::string shape_of(const operator_facts& root);

/// True if records of the pipeline exist once (`standard_input`, `once`): nothing that was read
/// can be read again.
LEAT_API bool is_once(const pipeline& x);

/// What happens at the end of an epoch: never automatic. Opens no data. Throws
/// `errc::invalid_argument` for a pipeline without a batch.
LEAT_API epoch_end end_of(const pipeline& x);
/// The pipeline with another end rule. Throws as `end_of`.
LEAT_API pipeline with_end(const pipeline& x, epoch_end end);

/// The pipeline with these options for servers, in all operators that have none of their own. Data
/// that is open already is opened again. Throws `errc::invalid_argument` for options that
/// contradict each other.
LEAT_API pipeline with_remote(const pipeline& x, const remote_options& how);

/// The pipeline with other functions in its maps: each of `maps` stands in for the maps of its name
/// and parameters. Order, keys and snapshots stay what they are: for tests that need no decoder,
/// and to measure or count what a map does.
LEAT_API pipeline with_maps(const pipeline& x, const std::vector<map_stage>& maps);

/// "auto", "drop", "mask", "cycle": as in the text form.
LEAT_API std::string_view name_of(epoch_end x) noexcept;

} // namespace leat
