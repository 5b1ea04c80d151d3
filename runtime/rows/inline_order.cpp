#include "runtime/rows/inline_order.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/patience.hpp"

#include <utility>

namespace leat {

namespace {

constexpr std::size_t items_a_probe = 64;
/// Reading the clock costs as much as a small item.
constexpr std::size_t items_a_clock = 8;
/// Between items that take longer, a caller is asked.
constexpr std::int64_t slow_ns = 10'000'000;

} // namespace

void throw_interrupted() {
  throw error(errc::interrupted, {.stage = "loader", .got = "a call of interrupt()"});
}

void throw_interruption(const batch_slot& of, std::size_t first, std::size_t end) {
  for (; first < end; ++first)
    if (const auto& x = of.result(first);
        x.what == row_result::outcome::failed && x.failure->code() == errc::interrupted)
      throw error(*x.failure);
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
      throw_error(errc::stuck, "iterators", "a batch that waits for nothing",
                  "an item, an end or an error");
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
  while (has_begun_probe_ || order_->open_probe(next_probe_, items_a_probe)) {
    if (!std::exchange(has_begun_probe_, true)) {
      probe_.open(next_probe_, false);
      probed_ = 0;
    }
    probe();
    end_probe();
    any = true;
  }
  return any;
}

void inline_order::probe() {
  busy_scope busy{function_.record()};
  auto a_clock = items_a_clock;
  auto begin = steady_ns();
  for (; probed_ < probe_.num_rows(); ++probed_) {
    if (probed_ % a_clock == 0) {
      check_caller();
      busy.begin_next();
      if (const auto now = steady_ns(); now - std::exchange(begin, now) > slow_ns)
        a_clock = 1;
    }
    probe_one();
  }
}

void inline_order::probe_one() {
  if (probed_ + 1 < probe_.num_rows())
    function_.expect(probe_.request(probed_ + 1));
  function_.run(probe_.request(probed_), {}, probe_.result(probed_));
  if (function_.was_interrupted())
    throw_interruption(probe_, probed_, probed_ + 1);
}

void inline_order::end_probe() {
  order_->close_probe(probe_);
  probe_.release();
  has_begun_probe_ = false;
}

void inline_order::rewind(std::uint64_t run) {
  if (has_begun_probe_) { // a caller did not wait for it; the order wants it back
    for (; probed_ < probe_.num_rows(); ++probed_)
      probe_one();
    end_probe();
  }
  order_->rewind(run);
}

} // namespace leat
