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

// What leat knows of an operator, apart from the operators themselves: everything that needs to
// know them by name asks here. Each is described in one file of its own: that of an operator with
// inputs in runtime/order/operators/, that of a source beside the source. What it points to of
// runtime/order is only named here.

namespace leat {

class iterator_form;
class iterator_planner;
class indexed_form;
class indexed_planner;
struct indexed_inputs;
struct operator_facts;
struct surroundings;

using field_names = std::set<std::string>;

/// Where an operator stands in the text: first; first, with pipelines in its brackets and options
/// by name after them; after a dot.
enum class operator_role : std::uint8_t { source, join, step };

/// What an operator is like, told from its nodes' words alone.
struct operator_traits {
  /// The root of a pipeline.
  bool is_batch = false;
  /// Changes samples alone: neither which there are nor where they stand.
  bool is_map = false;
  /// Making one of its samples again costs more than keeping it.
  bool is_expensive = false;
  /// A sample of it is of all inputs; of any other operator it is of one.
  bool joins_samples = false;
  /// Drops samples that were made for it: its consumer makes them again.
  bool drops_made_samples = false;
  /// Its samples are others than those of its input, which it only looks at.
  bool replaces_samples = false;
  /// Whether this node looks at the content of its inputs: a round ends at each input. Null: none
  /// does.
  bool (*probes_content)(const operator_node& x) = nullptr;
  /// How often this node begins its inputs in one pass. Null: once.
  std::uint64_t (*passes)(const operator_node& x) = nullptr;
  /// Files of which each lane has at least one, where this node deals files to lanes: no more lanes
  /// than these. Null, or nothing: it deals none. May open data.
  std::optional<std::uint64_t> (*files_for_lanes)(const operator_node& x) = nullptr;
  /// What gives a source that is read in sequence more units. Null: more files.
  std::string (*more_units)(const operator_node& source) = nullptr;
  /// Fields that every good sample surely has; `inputs`, to be used up, are those of the inputs.
  /// Null: those that all inputs have, of a source none. Throws `errc::invalid_argument` where no
  /// sample is good.
  field_names (*sure_fields)(const operator_node& x, std::vector<field_names>& inputs) = nullptr;
};

/// How an operator works.
struct operator_forms {
  /// Its indexed form. Null: it has none, and whatever stands on it is ordered by iterators.
  std::shared_ptr<const indexed_form> (*indexed)(const operator_node& x, indexed_inputs inputs,
                                                 indexed_planner& planner) = nullptr;
  /// Its iterator, which builds those of its inputs. Null: of sources, which all work alike, and of
  /// batches, which have none.
  std::shared_ptr<const iterator_form> (*iterator)(const operator_node& x, const surroundings& at,
                                                   iterator_planner& planner) = nullptr;
  /// Of what its iterator writes into states and items, and of the choices that a restore makes
  /// again: raised when any of it changes its meaning, so that older states are refused. From 1;
  /// 0: there is nothing of it.
  std::uint32_t state_version = 0;
};

/// What `leat graph` tells an operator.
struct graph_facts {
  std::uint64_t lanes = 1;
  /// Bytes of an input's item, for an operator that joins samples of all; empty where that depends
  /// on content.
  std::optional<std::uint64_t> item = 0;
};

/// What an operator keeps in each lane, apart from what its inputs keep, and gives. Sizes are for
/// numbers and keys of usual size; empty where they depend on content, or on a function.
struct state_sizes {
  /// "a count". Empty: nothing.
  std::string what = {};
  std::optional<std::uint64_t> bytes = 0;
  /// Of an item that it gives.
  std::optional<std::uint64_t> item = 0;
};

/// Their sum; empty where one is.
inline std::optional<std::uint64_t> plus(std::optional<std::uint64_t> a,
                                         std::optional<std::uint64_t> b) {
  return a && b ? std::optional{*a + *b} : std::nullopt;
}

/// Its line in `leat graph`, apart from its call.
struct operator_graph {
  /// Null: keeps nothing, and gives its inputs' items as they are.
  state_sizes (*state)(const operator_node& x, const graph_facts& facts) = nullptr;
  /// What workers do for it, apart from looking at content: "flat_map copies@1". Null: nothing; of
  /// a source: they read it.
  std::string (*work)(const operator_node& x) = nullptr;
  /// What else there is to say. Null: of a source its size.
  std::string (*note)(const operator_node& x) = nullptr;
};

/// One thing in which two nodes of an operator differ, by its name, with both values as texts.
struct option_difference {
  std::string name;
  std::string before;
  std::string now;
};

/// How a snapshot's node of an operator is held against a pipeline's.
struct comparison_rules {
  /// Other options move no sample: they can be allowed.
  bool options_may_change = false;
  /// What no other options can be. Null: any other option is one difference, of the operator's
  /// name.
  std::vector<option_difference> (*differences)(const operator_facts& before,
                                                const operator_facts& now) = nullptr;
  /// Whether the order depends on the number of lanes at this node. Null: it does not.
  bool (*binds_lanes)(const operator_facts& x) = nullptr;
};

struct operator_type {
  std::string_view word;
  operator_role role;
  /// All options of its nodes, in their order.
  std::vector<operator_option> options = {};
  /// Calls the public function, which checks the values. `call` has all options; `inputs` are one
  /// for a step, at least one for a join.
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

/// That of a node. Throws `errc::invalid_argument` for none.
const operator_type& type_of(const operator_node& x);

} // namespace leat
