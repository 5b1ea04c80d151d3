#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/worker_record.hpp"

#include <leat/sample.hpp>

namespace leat {

void context::begins() const noexcept {
  if (!record_ || !has_row_)
    return;
  record_->item.store(position_, std::memory_order_relaxed);
  record_->since_ns.store(steady_ns(), std::memory_order_relaxed);
}

void context::refuse_position() {
  refuse_argument("context",
                  "a call of position() in a map whose samples a later operator looks at, so "
                  "that their rows are not known yet",
                  "the map after that operator, or the field of an enumerate() before the map");
}

} // namespace leat
