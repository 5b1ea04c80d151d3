#pragma once

// The operators of pipelines that are ordered by iterators, on one page: each is a form that begins
// iterators, one file an operator. docs/iterators.md says what they give.

#include "runtime/order/iterators/iterator.hpp"
#include "runtime/sample/live_source.hpp"
#include "runtime/sample/stream_source.hpp"

#include <leat/pipeline.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace leat {

class edge_form;
class named_files;

/// An indexed part, dealt to the lanes: item k of lane l is sample l + kL. State: k.
iterator_form_ptr indexed_part(indexed_form_ptr items);

/// The order of a stream's units; `order` is null where they come as stored.
struct unit_order {
  std::shared_ptr<shared_orders> order = {};
  std::uint64_t units = 0;
};
/// State: unit, place in it.
iterator_form_ptr stream_part(std::shared_ptr<const stream_source> data, unit_order order,
                              std::size_t source);

/// Item k of lane l is record l + kL. State: k.
iterator_form_ptr once_part(std::shared_ptr<live_source> data, std::uint32_t feed,
                            std::size_t source);

/// No state of its own. `number`: see sample_graph::maps.
iterator_form_ptr mapped_items(iterator_form_ptr input, std::size_t number);

/// State: items given.
iterator_form_ptr enumerated_items(iterator_form_ptr input, std::string field);

/// No state of its own. Judged by id in the iterator, or by content across an edge, which then
/// finds 1 for what is kept. `shuffles`: see sample_graph::num_shuffles, of those below.
iterator_form_ptr filtered_by_id(iterator_form_ptr input,
                                 std::shared_ptr<const filter_stage> filter, std::size_t shuffles);
iterator_form_ptr filtered(std::shared_ptr<const edge_form> input);

/// State: the parent, and which child is next. The edge finds how many there are.
iterator_form_ptr children_of(iterator_form_ptr input, std::uint64_t children, std::size_t number);
iterator_form_ptr children_of(std::shared_ptr<const edge_form> input, std::size_t number);

/// State: place in the list, the open file's name, place in it. The edge finds names of files.
iterator_form_ptr read_files(std::shared_ptr<const edge_form> input,
                             std::shared_ptr<const named_files> files, std::size_t source);

/// State: draws, whether the input ended, and up to ceil(n / L) items without their payloads.
iterator_form_ptr shuffled_by_buffer(iterator_form_ptr input, std::uint64_t n, std::uint64_t seed,
                                     std::uint64_t ordinal);

/// State of take and skip: a count. `n` is a total over all lanes.
iterator_form_ptr first_items(iterator_form_ptr input, std::uint64_t n);
iterator_form_ptr items_after(iterator_form_ptr input, std::uint64_t n);

/// State: the repetition.
iterator_form_ptr repeated_items(iterator_form_ptr input, std::uint64_t times);

/// State: the inputs' items so far of the one in the making. Inputs behind the first use side
/// samples from `first_side` on.
iterator_form_ptr zipped_items(std::vector<iterator_form_ptr> inputs, std::size_t first_side);

/// State: the input.
iterator_form_ptr concatenated_items(std::vector<iterator_form_ptr> inputs);

/// Of an input that begins again, where the mix is of that kind.
inline constexpr std::uint64_t max_mix_repetitions = std::uint64_t{1} << 32;

/// State: draws; of each input what was taken, whether it is live, its repetition. `edges` stands
/// in place of the inputs where shares count a cost, which they find.
struct mix_plan {
  std::vector<iterator_form_ptr> inputs = {};
  std::vector<std::shared_ptr<const edge_form>> edges = {};
  std::vector<std::uint64_t> weights;
  mix_rule rule = mix_rule::deficit;
  mix_stop stop = mix_stop::all;
  std::uint64_t seed = 0;
  std::uint64_t ordinal = 0;
};
iterator_form_ptr mixed_items(mix_plan plan);

/// State: the user's. The edge finds what the step needs.
iterator_form_ptr scanned(std::shared_ptr<const edge_form> input,
                          std::shared_ptr<const scan_stage> scan, std::size_t number);

/// State: open and closed bins, by their items. The edge finds a document's elements, delimiter
/// included.
struct pack_plan {
  std::string field;
  std::uint64_t length = 1;
  std::uint64_t bins = 1;
  bool split = false;
  std::vector<std::uint64_t> delimiter = {};
  std::uint64_t pad = 0;
  std::size_t side = 0;
};
iterator_form_ptr packed(std::shared_ptr<const edge_form> input, pack_plan plan);
/// What the edge below a pack finds. Throws `bad_sample` for a field that cannot be packed.
probe_result probe_document(const pack_plan& plan, const sample& x);

} // namespace leat
