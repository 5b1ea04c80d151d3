#include "runtime/sources/lines/line_ends.hpp"

#include <algorithm>

namespace leat {

namespace {

/// What is not in the page cache is read, while the system reads ahead: to look at what it has read
/// ahead, in place of reading on, would make it stop.
constexpr std::uint64_t read_before_next_try = std::uint64_t{16} << 20;

} // namespace

std::optional<std::uint64_t> line_ends::next(std::uint64_t at, std::uint64_t most) {
  for (;;) {
    for (; used_ < found_; ++used_)
      if (places_[used_] >= at)
        return places_[used_];
    if (searched_to_ > at && searched_to_ - at > most)
      return searched_to_;
    if (at < not_before_ || !search(std::max(at, searched_to_)))
      return std::nullopt;
  }
}

bool line_ends::search(std::uint64_t from) {
  used_ = 0;
  const auto to = objects_.find(file_, from, std::byte{'\n'}, places_, found_);
  if (to)
    searched_to_ = *to;
  else
    not_before_ = from + read_before_next_try;
  return to.has_value();
}

} // namespace leat
