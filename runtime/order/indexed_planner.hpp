#pragma once

#include "runtime/order/indexed_form.hpp"
#include "runtime/pipeline/operator_node.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace leat {

struct sample_graph;

/// The inputs of an operator, as indexed forms.
struct indexed_inputs {
  std::vector<indexed_form_ptr> items;
  /// Ordinal of the first source below the operator.
  std::size_t first_source = 0;
};

/// Makes indexed forms of the indexed parts of a pipeline, in data order, and counts what all parts
/// have in common: sources, maps, shuffles.
class indexed_planner {
public:
  /// Results go into the plan, which must outlive this. `lanes` is L.
  indexed_planner(sample_graph& plan, std::uint64_t lanes) : plan_(plan), lanes_(lanes) {}

  /// Opens the data. Throws `errc::invalid_argument` if an epoch has more than 2^62 samples.
  indexed_form_ptr build(const operator_node& x);

  // For operators, whether or not everything below them is indexed:
  std::uint64_t lanes() const noexcept { return lanes_; }
  /// Returns the ordinal of a new source.
  std::size_t add_source(std::string name);
  /// Returns the number of a new map.
  std::size_t add_map(const operator_node& x);
  /// Returns the number of a new shuffle.
  std::size_t add_shuffle() noexcept;
  /// Returns how many shuffles there are above a source so far, and adds one.
  std::uint64_t add_shuffle_above(std::size_t source) { return shuffles_above_[source]++; }
  /// Returns the number of the first of n new side samples.
  std::size_t add_side_samples(std::size_t n) noexcept;
  /// The first seed that is seen is used for all maps.
  void see_seed(std::uint64_t seed);

  /// Called once everything is built: makes names and random streams.
  void finish();

private:
  indexed_form_ptr build_source(const operator_node& x);

  sample_graph& plan_;
  std::uint64_t lanes_;
  bool has_seed_ = false;
  std::vector<std::string> source_names_;
  /// By the first source below.
  std::map<std::size_t, std::uint64_t> shuffles_above_;
};

/// Throws `errc::invalid_argument`: `x` has more samples than permutations and numbers of positions
/// can represent.
[[noreturn]] void refuse_size(const operator_node& x);

/// Items per epoch. Opens the data.
std::uint64_t size_of(const operator_node& root);

} // namespace leat
