#pragma once

#include "runtime/order/indexed_form.hpp"
#include "runtime/order/iterators/iterator.hpp"

#include <leat/pipeline.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace leat {

/// An input whose content an operator probes: one round ends here and the next one begins.
struct edge_plan {
  /// The operator that probes: "filter field_hash@1".
  std::string stage;
  iterator_form_ptr input;
  /// What a worker does with the input's sample.
  std::function<probe_result(sample&, sample_maker&)> probe;
  /// Edges directly below the round that ends here.
  std::vector<std::size_t> below = {};
  /// The last pass of an epoch.
  pass_number last_pass = 0;
  /// Samples are kept with their items: making them again would cost more than keeping them.
  bool keeps_samples = false;
  /// But not those with fields of so few bytes in all: those are cheap to make.
  std::size_t made_again = 0;
  /// The only field that the operator uses of samples that are kept; empty: it uses all of them.
  std::string only_field = {};
};

/// A mix of the pipeline, for changes of its weights.
struct mix_place {
  std::size_t inputs = 0;
  /// No operator above it probes content: it can tell the step that its items are for.
  bool is_in_last_round = false;
  /// Its schedule counts what its items cost, not steps.
  bool counts_cost = false;
};

/// How many of something a pipeline has.
struct sample_counts {
  std::size_t num_sources = 0;
  std::size_t num_shuffles = 0;
  /// Samples that zips and packs need besides the row's own.
  std::size_t num_side_samples = 0;
};

/// The samples of a pipeline below its batch, and everything needed to make them. Immutable, shared
/// by all threads.
struct sample_graph : sample_counts {
  /// For an indexed pipeline; null for all others.
  std::shared_ptr<const indexed_form> items;
  /// For a pipeline ordered by iterators: its last round. Null for indexed pipelines.
  iterator_form_ptr iterator;
  std::vector<edge_plan> edges;
  /// Edges directly below the last round.
  std::vector<std::size_t> last_edges;

  /// In data order, and so is the key of each map's random numbers: see `map_stream`.
  std::vector<map_stage> maps;
  std::vector<std::uint64_t> streams;
  /// The first of the last maps, which nothing but maps follows, that takes several samples at
  /// once; else the number of maps.
  std::size_t first_together = 0;
  std::vector<std::shared_ptr<const filter_stage>> filters;
  std::vector<std::shared_ptr<const flat_map_stage>> flat_maps;
  std::vector<std::shared_ptr<const scan_stage>> scans;
  /// Names of sources, maps, edges, flat_maps and scans, in this order: see worker_record::stage.
  std::vector<std::string> stage_names;
  /// The seed of the first operator that has one.
  std::uint64_t seed = 0;
  std::vector<std::shared_ptr<live_source>> feeds;
  /// In data order.
  std::vector<mix_place> mixes;

  bool is_indexed() const noexcept { return items != nullptr; }
  /// States of lanes say how many items the lane gave before: some mix counts steps by that.
  bool counts_steps() const noexcept {
    return std::any_of(mixes.begin(), mixes.end(), [](auto& x) { return x.is_in_last_round; });
  }
  std::size_t stage_of_edge(std::size_t i) const noexcept { return num_sources + maps.size() + i; }
  std::size_t stage_of_flat_map(std::size_t i) const noexcept {
    return stage_of_edge(edges.size()) + i;
  }
  std::size_t stage_of_scan(std::size_t i) const noexcept {
    return stage_of_flat_map(flat_maps.size()) + i;
  }
};

} // namespace leat
