#pragma once

#include "runtime/order/indexed_form.hpp"
#include "runtime/pipeline/operator_node.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace leat {

struct sample_graph;

/// The inputs of an operator, as sequences.
struct indexed_inputs {
  std::vector<indexed_form_ptr> items;
  /// Ordinal of the first source below.
  std::size_t first_source = 0;
};

/// Makes indexed forms of indexed parts of a pipeline, in data order, and counts what all parts
/// have in common: sources, maps, shuffles.
class indexed_planner {
public:
  /// What is found goes into the plan, which must outlive this. `lanes` is L.
  indexed_planner(sample_graph& plan, std::uint64_t lanes) : plan_(plan), lanes_(lanes) {}

  /// Opens the data. Throws `errc::invalid_argument` where an epoch has more than 2^62 samples.
  indexed_form_ptr build(const operator_node& x);

  // For operators, whether or not all below them is indexed.
  std::uint64_t lanes() const noexcept { return lanes_; }
  /// Ordinal of a new source.
  std::size_t add_source(std::string name);
  /// Number of a new map.
  std::size_t add_map(const operator_node& x);
  /// Number of a new shuffle.
  std::size_t add_shuffle() noexcept;
  /// Shuffles above a source, up to now: this is one more.
  std::uint64_t add_shuffle_above(std::size_t source) { return shuffles_above_[source]++; }
  /// Number of the first of so many side samples.
  std::size_t add_side_samples(std::size_t n) noexcept;
  /// The first one is that of all maps.
  void see_seed(std::uint64_t seed);

  /// Once all is built: names and random streams.
  void finish();

private:
  indexed_form_ptr build_source(const operator_node& x);

  sample_graph& plan_;
  std::uint64_t lanes_;
  bool has_seed_ = false;
  std::vector<std::string> source_names_;
  /// By first source.
  std::map<std::size_t, std::uint64_t> shuffles_above_;
};

/// Throws `errc::invalid_argument`: `x` has more samples than permutations and numbers of positions
/// can hold.
[[noreturn]] void refuse_size(const operator_node& x);

/// Items of an epoch. Opens the data.
std::uint64_t size_of(const operator_node& root);

} // namespace leat
