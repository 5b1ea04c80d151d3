#pragma once

// The forms below all others: data, dealt to the lanes. docs/iterators.md says what they give.

#include "runtime/order/indexed_form.hpp"
#include "runtime/order/iterators/iterator.hpp"
#include "runtime/order/order_cache.hpp"
#include "runtime/sample/live_source.hpp"
#include "runtime/sample/stream_source.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace leat {

/// An indexed part, dealt to the lanes: item k of lane l is sample l + kL. State: k.
iterator_form_ptr indexed_part(indexed_form_ptr items);

/// The order of a stream's units; `order` is null if they come as stored.
struct unit_order {
  std::shared_ptr<shared_orders> order = {};
  std::uint64_t units = 0;
};
/// The units of a stream, dealt to the lanes. State: unit, and place in it. `keeps_content`: what
/// was read to find a record is kept until its sample is made.
iterator_form_ptr stream_part(std::shared_ptr<const stream_source> data, unit_order order,
                              std::size_t source, bool keeps_content);

/// The records of a source that exist once: item k of lane l is record l + kL. State: k.
iterator_form_ptr once_part(std::shared_ptr<live_source> data, std::uint32_t feed,
                            std::size_t source);

} // namespace leat
