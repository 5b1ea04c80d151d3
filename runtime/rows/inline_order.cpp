#include "runtime/rows/inline_order.hpp"

#include "runtime/base/patience.hpp"

#include <leat/error.hpp>

#include <utility>

namespace leat {

namespace {

constexpr std::size_t items_a_probe = 64;
/// Reading the clock costs as much as a small item.
constexpr std::size_t items_a_clock = 8;

} // namespace

void throw_interrupted() {
  throw error(errc::interrupted, {.stage = "loader", .got = "a call of interrupt()"});
}

inline_order::inline_order(std::unique_ptr<batch_order> order, row_runner& function)
    : order_(std::move(order)), function_(function),
      probe_(std::make_shared<batch_layout>(), items_a_probe) {
  function_.stay_in_thread();
}

const planned_batch& inline_order::next() {
  // Also before a batch that nothing is missing for: a caller may run through any number of them.
  for (check_caller(); !order_->open(next_); check_caller())
    if (!probe_items() && !order_->wants_to_run() && !order_->wait_for_feed(function_.cancelled()))
      throw error(errc::stuck, {.stage = "iterators",
                                .got = "a batch that waits for nothing",
                                .needed = "an item, an end or an error"});
  return next_;
}

void inline_order::check_caller() const {
  if (function_.cancelled())
    throw_interrupted();
  check_patience();
}

void inline_order::open(batch_slot& slot) {
  (void)next();
  slot.open(next_, false);
}

bool inline_order::probe_items() {
  bool any = false;
  while (order_->open_probe(next_probe_, items_a_probe)) {
    probe_.open(next_probe_, false);
    probe();
    order_->close_probe(probe_);
    probe_.release();
    any = true;
  }
  return any;
}

void inline_order::probe() {
  busy_scope busy{function_.record()};
  for (std::size_t i = 0; i < probe_.num_rows(); ++i) {
    if (i % items_a_clock == 0)
      busy.begin_next();
    if (i + 1 < probe_.num_rows())
      function_.expect(probe_.request(i + 1));
    function_.run(probe_.request(i), {}, probe_.result(i));
  }
}

} // namespace leat
