#pragma once

#include "runtime/pipeline/operator_node.hpp"
#include "runtime/pipeline/operator_option.hpp"

#include <leat/pipeline.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

// What leat knows of an operator outside its own file: all code that needs to know operators by
// name asks here. Each is described in a file of its own: an operator with inputs in
// runtime/order/operators/, a source next to the source's code. The types of runtime/order that
// appear here are only declared.

namespace leat {

class iterator_form;
class iterator_planner;
class indexed_form;
class indexed_planner;
struct indexed_inputs;
struct operator_facts;
struct surroundings;

using field_names = std::set<std::string>;

/// Where an operator stands in the text: a source first; a join first, with pipelines in its
/// brackets and then options by name; a step after a dot.
enum class operator_role : std::uint8_t { source, join, step };

/// Properties of an operator, known from its nodes' words alone.
struct operator_traits {
  /// The root of a pipeline.
  bool is_batch = false;
  /// Gives rows of batches: only maps and the batch may follow it.
  bool ends_pipeline = false;
  /// Only changes samples: neither which samples there are nor their order.
  bool is_map = false;
  /// Making one of its samples again costs more than keeping it.
  bool is_expensive = false;
  /// Its sample is made of those of all inputs; a sample of any other operator comes from one
  /// input.
  bool joins_samples = false;
  /// Drops samples that were already made below it, so that none are kept there: its consumer makes
  /// them again.
  bool drops_made_samples = false;
  /// Its samples differ from those of its input, which it only probes.
  bool replaces_samples = false;
  /// Whether this node probes the content of its inputs: a round ends at each input. Null: no node
  /// does.
  bool (*probes_content)(const operator_node& x) = nullptr;
  /// How often this node begins its inputs in one pass. Null: once.
  std::uint64_t (*passes)(const operator_node& x) = nullptr;
  /// The number of files that this node deals to lanes, each of which needs at least one: there are
  /// no more lanes than that. Null, or nothing: it deals none. May open data.
  std::optional<std::uint64_t> (*files_for_lanes)(const operator_node& x) = nullptr;
  /// What gives more units to a source that is read in sequence. Null: more files.
  std::string (*more_units)(const operator_node& source) = nullptr;
  /// Fields that every good sample is sure to have; `inputs`, which may be used up, are those of
  /// the inputs. Null: the fields that all inputs have; for a source, none. Throws
  /// `errc::invalid_argument` if no sample can be good.
  field_names (*sure_fields)(const operator_node& x, std::vector<field_names>& inputs) = nullptr;
  /// For a source in place of that: the field of its samples, whatever its options.
  std::string_view only_field = {};
};

/// How an operator works.
struct operator_forms {
  /// Its indexed form. Null: it has none, and every pipeline that contains it is ordered by
  /// iterators.
  std::shared_ptr<const indexed_form> (*indexed)(const operator_node& x, indexed_inputs inputs,
                                                 indexed_planner& planner) = nullptr;
  /// Its iterator, which builds those of its inputs. Null for sources, which all work alike, and
  /// for batches, which have none.
  std::shared_ptr<const iterator_form> (*iterator)(const operator_node& x, const surroundings& at,
                                                   iterator_planner& planner) = nullptr;
  /// The version of what its iterator writes into states and items, and of the choices that a
  /// restore makes again: raised when the meaning of any of it changes, so that older states are
  /// refused. From 1; 0 if there is no such state.
  std::uint32_t state_version = 0;
  /// The version of the rules by which it takes records and fields from its data: raised when data
  /// that was read without an error gives other ones, so that nobody resumes with them unawares.
  std::uint32_t reading_version = 0;
};

/// What `leat graph` tells an operator about its inputs.
struct graph_facts {
  std::uint64_t lanes = 1;
  /// Bytes of an input's item, for an operator that joins samples of all inputs; empty if that
  /// depends on content.
  std::optional<std::uint64_t> item = 0;
};

/// What an operator keeps in each lane, apart from what its inputs keep, and gives. Sizes are for
/// numbers and keys of usual size; empty where they depend on content, or on a function.
struct state_sizes {
  /// "a count". Empty: nothing.
  std::string what = {};
  std::optional<std::uint64_t> bytes = 0;
  /// Bytes of an item that it gives.
  std::optional<std::uint64_t> item = 0;
};

/// Their sum; empty if one of them is empty.
inline std::optional<std::uint64_t> plus(std::optional<std::uint64_t> a,
                                         std::optional<std::uint64_t> b) {
  return a && b ? std::optional{*a + *b} : std::nullopt;
}

/// Its line in `leat graph`, apart from the call itself.
struct operator_graph {
  /// Null: it keeps nothing, and passes on its inputs' items unchanged.
  state_sizes (*state)(const operator_node& x, const graph_facts& facts) = nullptr;
  /// What workers do for it, apart from probing content: "flat_map copies@1". Null: nothing; for a
  /// source, they read it.
  std::string (*work)(const operator_node& x) = nullptr;
  /// Anything else worth saying. Null: for a source, its size.
  std::string (*note)(const operator_node& x) = nullptr;
};

/// One difference between two nodes of an operator: its name, and both values as texts.
struct option_difference {
  std::string name;
  std::string before;
  std::string now;
};

/// How a snapshot's node of an operator is compared with a pipeline's.
struct comparison_rules {
  /// A change of options moves no sample, and can be allowed.
  bool options_may_change = false;
  /// The differences between nodes whose options may not change. Null: any changed option is one
  /// difference, under the operator's name.
  std::vector<option_difference> (*differences)(const operator_facts& before,
                                                const operator_facts& now) = nullptr;
  /// Whether the order depends on the number of lanes at this node. Null: it does not.
  bool (*binds_lanes)(const operator_facts& x) = nullptr;
};

struct operator_type {
  std::string_view word;
  operator_role role;
  /// All options of its nodes, in order.
  std::vector<operator_option> options = {};
  /// Calls the public function, which checks the values. `call` has values of all options; a step
  /// gets one of `inputs`, a join at least one.
  pipeline (*make)(const operator_node& call, const std::vector<pipeline>& inputs) = nullptr;
  operator_traits traits = {};
  operator_forms forms = {};
  operator_graph graph = {};
  comparison_rules comparison = {};
};

/// All operators, in the order of docs/pipelines.md.
const std::vector<operator_type>& operator_types();

/// The operator of this name; null for none.
const operator_type* find_operator(std::string_view word);

/// The option of this name; null if the operator, or its option, is not known.
const operator_option* find_option(std::string_view word, std::string_view option);

/// Removes the options that a node has only where they are changed, and whose values are presets.
void remove_unchanged(operator_node& x);

/// The type of a node. Throws `errc::invalid_argument` if leat does not know its operator.
const operator_type& type_of(const operator_node& x);

/// Fields that every good sample of a pipeline has, if that is known without reading one: from
/// leat's own sources with fixed fields, and after leat's own functions. After a function of the
/// program, no field is sure. Throws `errc::invalid_argument` for a `zip` of which two inputs are
/// sure to have a field of the same name.
field_names sure_fields(const operator_node& x);

} // namespace leat
