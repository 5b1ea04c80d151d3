#pragma once

#include "runtime/order/indexed_planner.hpp"
#include "runtime/order/iterators/edge.hpp"
#include "runtime/order/sample_graph.hpp"
#include "runtime/pipeline/error_list.hpp"
#include "runtime/pipeline/operator_node.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace leat {

/// The longest chain of rounds, the last one included, that a pipeline may have: a snapshot nests
/// three messages for each, and protobuf stops at 100.
inline constexpr std::size_t max_rounds = 24;

/// The surroundings of an operator in the tree.
struct surroundings {
  /// The last pass of an epoch at this place.
  pass_number last_pass = 0;
  /// The operator is begun more than once per epoch.
  bool repeats = false;
  /// No operator above drops samples that were made (`operator_traits::drops_made_samples`).
  bool keeps_content = true;
};

/// Makes iterator forms of operators, and a round of everything below an operator that probes
/// content. After an error it continues, to find all errors: a wrong operator is replaced by
/// nothing, or by its input.
class iterator_planner {
public:
  /// Results go into the plan and errors into the list; both must outlive this. `unopened`: sources
  /// that cannot be opened. `lanes` is L.
  iterator_planner(sample_graph& plan, std::uint64_t lanes, error_list& errors,
                   std::set<const operator_node*> unopened)
      : plan_(plan), errors_(errors), unopened_(std::move(unopened)), common_(plan, lanes) {}

  void plan(const operator_node& root);

  // For operators, which call these in data order, inputs first:
  iterator_form_ptr build(const operator_node& x, const surroundings& at);
  /// The only input of `x`.
  iterator_form_ptr build_input(const operator_node& x, const surroundings& at) {
    return build(*x.inputs.front(), at);
  }
  std::vector<iterator_form_ptr> build_inputs(const operator_node& x, const surroundings& at);
  /// Ends the round below `x`, an operator that probes content: `probe` is what workers do with the
  /// samples of `input`. `only_field`: all that the operator uses of them; empty: it uses more.
  edge_ptr build_edge(const operator_node& x, const operator_node& input, const surroundings& at,
                      std::function<probe_result(sample&, sample_maker&)> probe,
                      std::string only_field = {});
  /// Ends the round below `x` at its only input.
  edge_ptr build_edge(const operator_node& x, const surroundings& at,
                      std::function<probe_result(sample&, sample_maker&)> probe,
                      std::string only_field = {}) {
    return build_edge(x, *x.inputs.front(), at, std::move(probe), std::move(only_field));
  }

  /// The last pass below `x`, which has the surroundings `at` and begins its inputs `times` times.
  pass_number last_pass_below(const operator_node& x, const surroundings& at,
                              std::optional<pass_number> times);
  /// The ordinal of this operator among those of its name, for its draws.
  std::uint64_t take_ordinal(const operator_node& x) { return ordinals_[x.op]++; }
  void refuse(const operator_node& x, std::string got, std::string needed) {
    errors_.add(x.op, std::move(got), std::move(needed));
  }
  /// Numbers that operators with an indexed form use, too.
  indexed_planner& common() noexcept { return common_; }
  sample_graph& result() noexcept { return plan_; }
  std::uint64_t lanes() const noexcept { return common_.lanes(); }
  /// No operator above the one that is being built probes content.
  bool is_in_last_round() const noexcept { return depth_ == 1; }

private:
  indexed_form_ptr build_indexed(const operator_node& x);
  iterator_form_ptr build_stream(const operator_node& x, const surroundings& at);
  iterator_form_ptr build_once(const operator_node& x, const surroundings& at);
  /// Samples of `root` with at most this many bytes cost less to make again than to keep: records
  /// of streams, which nothing has changed.
  std::size_t cheap_again(const operator_node& root) const;

  sample_graph& plan_;
  error_list& errors_;
  std::set<const operator_node*> unopened_;
  indexed_planner common_;
  std::map<std::string, std::uint64_t> ordinals_;
  /// Edges of the round that is being built.
  std::vector<std::size_t>* round_ = nullptr;
  /// Number of rounds from the last one to the current one.
  std::size_t depth_ = 1;
};

} // namespace leat
