#include "runtime/programs/edge.hpp"

#include "runtime/row_maker.hpp"
#include "runtime/sample_access.hpp"

namespace leat {

pulled edge_program::pull(item& into, looked& found) {
  if (ended_)
    return pulled::end;
  const auto result = inputs_->take(edge_, when_, consumed_, into, found);
  if (result == pulled::blocked)
    return result;
  ++consumed_;
  ended_ = result == pulled::end;
  return result;
}

void edge_program::save(item& to) const {
  to.add(consumed_);
  to.add(ended_ ? 1 : 0);
}

void edge_program::load(item_reader& from) {
  consumed_ = from.number();
  ended_ = from.number(1) == 1;
  inputs_->resume(edge_, when_, consumed_);
}

std::uint64_t edge_stage::make(item_reader& from, const item_place& at, sample& into,
                               row_maker& with) const {
  const auto start = from;
  const auto kept = from.take_payload(static_cast<std::uint32_t>(number_));
  if (!kept)
    return input_->make(from, at, into, with);
  const auto& made = static_cast<const made_sample&>(*kept);
  sample_access::lend(made.content, into);
  sample_access::identify(into, *input_, start, at, with.orders());
  return made.birth;
}

} // namespace leat
