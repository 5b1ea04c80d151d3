#pragma once

#include "runtime/base/worker_record.hpp"
#include "runtime/order/indexed_form.hpp"
#include "runtime/order/input_counts.hpp"
#include "runtime/order/order_cache.hpp"
#include "runtime/order/sample_graph.hpp"
#include "runtime/storage/record_blocks.hpp"

#include <leat/bad_sample.hpp>
#include <leat/error.hpp>
#include <leat/sample.hpp>
#include <leat/source.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

/// What one thread needs to make samples: its copies of the maps, the orders that it used last,
/// samples for the other inputs of zips. Tells the worker's record which stage it is in. Large
/// because each kind of function has a member that calls it.
class sample_maker {
public:
  sample_maker(std::shared_ptr<const sample_graph> plan, std::shared_ptr<worker_record> record,
               std::uint64_t lanes, const std::atomic<bool>* cancelled, std::stop_token stop = {});

  /// Makes an item of an indexed pipeline, for the row at `position` of the epoch, in an emptied
  /// sample. Throws `bad_sample`, also for exceptions of user functions; `leat::error` (io,
  /// torn_file).
  void make(const place& at, std::uint64_t position, sample& into);
  /// Makes an item that an iterator gave, in the same way; the item must outlive the row. Returns
  /// its key.
  std::uint64_t make(const iterator_form& of, const item& what, const item_place& at,
                     std::uint64_t position, sample& into);
  /// A sample whose last maps have not run yet.
  struct begun {
    sample* of = nullptr;
    std::uint64_t epoch = 0;
    std::uint64_t position = 0;
    std::uint64_t sample_key = 0;
  };
  /// Calls `make`, which makes an item in `into`, and leaves out the maps from
  /// sample_graph::first_together on: finish() runs these. Other samples may be made meanwhile.
  template <class Make>
  begun begin(sample& into, Make make);
  /// Runs the last maps, for all samples at once. If it throws, it is not known what is wrong with
  /// which of them, and all must be made again.
  void finish(std::span<const begun> all);

  /// Makes an item that an edge's operator will look at: its maps are told of no row, since the
  /// same sample is perhaps made for a row again.
  std::uint64_t make_for_probe(const iterator_form& of, const item& what, const item_place& at,
                               sample& into);

  /// What an edge's operator finds in a sample that was made for it.
  probe_result probe(std::size_t edge, sample& x);

  order_cache& orders() noexcept { return orders_; }
  /// Bytes read since the last call, for the inputs of zips and packs whose samples are made beside
  /// the row's own.
  std::uint64_t take_bytes_read();

  /// What inputs of mixes gave to the sample; for the caller to empty before it is made.
  input_counts& given() noexcept { return given_; }

  // For indexed and iterator forms:
  void read(std::size_t source, const leat::source& from, std::uint64_t record, sample& into) {
    read(source, [&] { from.read(record, into); });
  }
  /// Reads a record by calling `read`.
  template <class Read>
  void read(std::size_t source, Read read) {
    call(source, read);
  }
  void map(std::size_t number, std::uint64_t sample_key, sample& into);
  /// Makes what lies below an edge, for the row: see make_for_probe().
  template <class Make>
  std::uint64_t below_edge(Make make) {
    const scope_of_flag scope{is_below_edge_, true};
    return make();
  }
  /// An emptied sample.
  sample& side_sample(std::size_t number);
  std::function<bool(sample&)>& filter(std::size_t number) { return filters_[number]; }
  flat_map_function& flat_map(std::size_t number) { return flat_maps_[number]; }
  scan_function& scan(std::size_t number) { return scans_[number]; }
  /// Replaces the sample by one of its children.
  void pick(std::size_t flat_map, std::uint64_t child, sample& into);
  /// Puts a scan's result into the sample.
  void apply(std::size_t scan, std::string_view result, sample& into);
  /// Notes that a sample was packed: its elements, and how many of them are padding.
  void count_packed(std::uint64_t elements, std::uint64_t padding) noexcept {
    add_alone(record_->elements_packed, elements);
    add_alone(record_->elements_padded, padding);
  }
  /// Notes that an input of a mix gave a sample that is made.
  void count_given(std::size_t input, std::uint64_t cost) {
    if (counts_given_)
      add_sample(given_, input, cost);
  }
  /// The same of a sample that was made before.
  void count_given(std::span<const input_count> by) {
    if (counts_given_)
      add(given_, by);
  }
  /// Makes a sample, of which a part is handed over that is not its first: it has counted already.
  template <class Make>
  std::uint64_t make_again(Make make) {
    const scope_of_flag scope{counts_given_, false};
    return make();
  }
  /// False if no map draws random numbers, so that sample keys are not needed.
  bool needs_sample_keys() const noexcept { return !functions_.empty(); }

private:
  /// Gives a flag another value, as long as it lives.
  struct scope_of_flag {
    bool& flag;
    bool before;

    scope_of_flag(bool& of, bool to) noexcept : flag(of), before(std::exchange(of, to)) {}
    ~scope_of_flag() { flag = before; }
    scope_of_flag(const scope_of_flag&) = delete;
    scope_of_flag& operator=(const scope_of_flag&) = delete;
  };

  void enter(std::size_t stage) noexcept {
    record_->stage.store(stage, std::memory_order_relaxed);
    record_->clock.enter(stage);
  }
  /// Runs a user's function in a stage: an exception makes the sample bad, unless it says that the
  /// machine lacks something.
  template <class Function>
  void call(std::size_t stage, Function function) {
    enter(stage);
    try {
      function();
    } catch (const bad_sample&) {
      throw;
    } catch (const error&) {
      throw;
    } catch (...) {
      rethrow(stage);
    }
  }
  [[noreturn]] void rethrow(std::size_t stage) const;
  [[noreturn]] void rethrow_of_map(std::size_t number) const;
  void map_together(std::size_t number, std::span<const begun> all);

  std::shared_ptr<const sample_graph> plan_;
  std::shared_ptr<worker_record> record_;
  std::uint64_t lanes_;
  const std::atomic<bool>* cancelled_;
  /// Stops waits for a store.
  std::stop_token stop_;
  record_blocks blocks_;
  order_cache orders_;
  std::vector<map_function> functions_;
  /// One entry per map; empty for a map that takes a single sample.
  std::vector<map_together_function> together_;
  std::vector<std::function<bool(sample&)>> filters_;
  std::vector<flat_map_function> flat_maps_;
  std::vector<scan_function> scans_;
  std::vector<std::unique_ptr<sample>> side_samples_;

  // About the row that is being made.
  std::uint64_t epoch_ = 0;
  std::uint64_t position_ = 0;
  bool is_below_edge_ = false;
  input_counts given_;
  bool counts_given_ = true;
  /// Maps from here on wait for finish().
  std::size_t first_left_ = SIZE_MAX;
  /// What the first of them would have got.
  std::uint64_t left_key_ = 0;

  // Memory of finish():
  std::vector<sample*> samples_;
  std::vector<context> contexts_;
};

template <class Make>
sample_maker::begun sample_maker::begin(sample& into, Make make) {
  first_left_ = plan_->first_together;
  try {
    make();
    first_left_ = SIZE_MAX;
  } catch (...) {
    first_left_ = SIZE_MAX;
    throw;
  }
  return {&into, epoch_, position_, left_key_};
}

} // namespace leat
