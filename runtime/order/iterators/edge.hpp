#pragma once

#include "runtime/order/iterators/iterator.hpp"

#include <leat/sample.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace leat {

/// Takes the items of the round below, with what workers found in them. State: the number of the
/// next item. After each item it writes whether that was bad.
class edge_iterator {
public:
  edge_iterator(std::size_t edge, const lane_context& lane, const lap& g)
      : edge_(edge), inputs_(lane.inputs), when_(g) {
    inputs_->open(edge_, when_);
  }

  /// Appends the next item. Throws what making the item threw.
  pulled pull(item& into, probe_result& found);
  void save(item& to) const;
  void load(item_reader& from);
  /// Number of items that were taken.
  std::uint64_t taken() const noexcept { return consumed_ - (ended_ ? 1 : 0); }

private:
  std::size_t edge_;
  round_input* inputs_;
  lap when_;
  std::uint64_t consumed_ = 0;
  bool ended_ = false;
};

/// An input whose content its consumer probes. Samples that were kept with their items are not made
/// again. An item that could not be judged, and that the policy lets pass, gives a bad sample
/// again, whatever the consumer does with it.
class edge_form {
public:
  /// `only_field`: see edge_plan.
  edge_form(std::size_t number, iterator_form_ptr input, std::string only_field = {})
      : number_(number), input_(std::move(input)), only_field_(std::move(only_field)) {}

  std::size_t number() const noexcept { return number_; }
  edge_iterator begin(const lane_context& lane, const lap& g) const { return {number_, lane, g}; }
  std::uint64_t make(item_reader& from, const item_place& at, sample& into,
                     sample_maker& with) const;
  void append_id(item_reader& from, const item_place& at, order_cache& orders,
                 std::string& to) const;
  void recall(item_reader& from, restored_content& to) const;

private:
  std::uint64_t make_input(item_reader& from, const item_place& at, sample& into,
                           sample_maker& with) const;

  std::size_t number_;
  iterator_form_ptr input_;
  std::string only_field_;
};

using edge_ptr = std::shared_ptr<const edge_form>;

} // namespace leat
