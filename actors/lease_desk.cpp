#include "actors/lease_desk.hpp"

namespace leat {

void lease_desk::give_back(slot_ptr slot) noexcept {
  if (!home_.is_here())
    return leave_to_parent(shared_from_this());
  engine_->recycle(std::move(slot));
  // Last: once the lease counts as ended, next() relies on its slot.
  leases_out_.fetch_sub(1);
}

} // namespace leat
