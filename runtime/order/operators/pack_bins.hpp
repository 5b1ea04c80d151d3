#pragma once

#include "runtime/order/iterators/edge.hpp"
#include "runtime/order/iterators/iterator.hpp"
#include "runtime/order/operators/pack_plan.hpp"
#include "runtime/sample/item.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace leat {

/// A range of a document's elements: the whole of it if `to` is not set.
struct part_range {
  std::uint64_t from = 0;
  std::optional<std::uint64_t> to = {};
};

/// Reads what stands before each document of a pack's item. Throws `errc::bad_snapshot` for a range
/// that no pack of this plan has.
part_range read_range(const pack_plan& plan, item_reader& from);

/// Places documents into samples of a plan's length: decides only by lengths.
class pack_bins {
public:
  explicit pack_bins(const pack_plan& plan) : plan_(plan) {}

  /// Places one more document, with what was found in it: its length, or that it is bad.
  void place(item document, const probe_result& found);
  /// Closes what is open, in its order.
  void close_all();

  bool has_closed() const noexcept { return !closed_.empty(); }
  /// Appends the item of the bin that was closed first, and forgets it.
  void give(item& into);

  void save(item& to) const;
  /// `ended`: the state is one after `close_all`. Throws `errc::bad_snapshot`.
  void load(item_reader& from, bool ended, const edge_form& documents);

private:
  struct part {
    item document;
    part_range range = {};
  };
  struct bin {
    std::uint64_t elements = 0;
    std::vector<part> parts;
  };
  static void write(const part_range& x, item& to);
  static void save(const std::deque<bin>& bins, item& to);
  std::deque<bin> load_bins(std::uint64_t most, std::uint64_t most_elements, item_reader& from,
                            const edge_form& documents) const;

  void put(part x, std::uint64_t elements);
  std::deque<bin>::iterator bin_for(std::uint64_t elements);
  void fill(item document, std::uint64_t elements);
  void fill_open(part x, std::uint64_t elements);
  void cut(item document, std::uint64_t elements);
  void close(std::ptrdiff_t x);

  const pack_plan& plan_;
  std::deque<bin> open_;
  std::deque<bin> closed_;
};

} // namespace leat
