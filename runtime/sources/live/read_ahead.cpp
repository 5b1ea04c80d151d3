#include "runtime/sources/live/read_ahead.hpp"

#include <algorithm>

namespace leat {

void read_ahead::want(std::uint64_t number) {
  wanted_ = std::max(wanted_, number + 1);
  forget_wanted();
}

void read_ahead::came(std::uint64_t next, std::uint64_t bytes) {
  // Without a new record, the bytes are part of the next one.
  ahead_.push_back({next > next_ ? next - 1 : next_, bytes});
  bytes_ahead_ += bytes;
  next_ = next;
  forget_wanted();
}

void read_ahead::forget_wanted() {
  for (; !ahead_.empty() && ahead_.front().record < wanted_; ahead_.pop_front())
    bytes_ahead_ -= ahead_.front().bytes;
}

bool read_ahead::wants_more() const noexcept {
  return next_ < wanted_ || (next_ - wanted_ < limits_.records && bytes_ahead_ < limits_.bytes);
}

} // namespace leat
