#include "runtime/order/iterators/edge.hpp"

#include "runtime/order/iterators/kept_fields.hpp"
#include "runtime/order/iterators/made_samples.hpp"
#include "runtime/order/sample_maker.hpp"
#include "runtime/sample/sample_access.hpp"

#include <leat/bad_sample.hpp>

namespace leat {

pulled edge_iterator::pull(item& into, probe_result& found) {
  if (ended_)
    return pulled::end;
  const auto result = inputs_->take(edge_, when_, consumed_, into, found);
  if (result == pulled::blocked)
    return result;
  ++consumed_;
  ended_ = result == pulled::end;
  if (!ended_) // after the item: a caller that makes its sample must know that it was bad
    into.add(found.bad ? 1 : 0);
  return result;
}

void edge_iterator::save(item& to) const {
  to.add(consumed_);
  to.add(ended_ ? 1 : 0);
}

void edge_iterator::load(item_reader& from) {
  consumed_ = from.number();
  ended_ = from.number(1) == 1;
  if (ended_ && consumed_ == 0)
    refuse_state("an input that has ended without an end", "its end");
  inputs_->resume(edge_, when_, consumed_);
}

std::uint64_t edge_form::make(item_reader& from, const item_place& at, sample& into,
                              sample_maker& with) const {
  const auto sample_key = make_input(from, at, into, with);
  if (from.number(1) == 0)
    return sample_key;
  with.probe(number_, into); // throws what it threw before
  throw bad_sample(cause::function_error, "bad when it was probed, and good now");
}

void edge_form::append_id(item_reader& from, const item_place& at, order_cache& orders,
                          std::string& to) const {
  input_->append_id(from, at, orders, to);
  from.number(1);
}

void edge_form::recall(item_reader& from, restored_content& to) const {
  input_->recall(from, to);
  from.number(1);
}

std::uint64_t edge_form::make_input(item_reader& from, const item_place& at, sample& into,
                                    sample_maker& with) const {
  const auto start = from;
  const auto kept = from.take_payload(static_cast<std::uint32_t>(number_));
  if (!kept)
    return with.below_edge([&] { return input_->make(from, at, into, with); });
  if (!only_field_.empty()) {
    const auto& field = static_cast<const kept_field&>(*kept);
    sample_access::lend(only_field_, field.content, into);
    identify(into, *input_, start, at, with.orders());
    with.count_given(field.given);
    return field.sample_key;
  }
  const auto& made = static_cast<const made_sample&>(*kept);
  sample_access::lend(made.content, into);
  identify(into, *input_, start, at, with.orders());
  with.count_given(made.given);
  return made.sample_key;
}

} // namespace leat
