#include "runtime/sources/lines/line_ends.hpp"

#include "runtime/base/text.hpp"

#include <algorithm>

namespace leat {

namespace {

/// What is not in the page cache is read, while the system reads ahead: to look at what it has read
/// ahead, in place of reading on, would make it stop.
constexpr std::uint64_t read_before_next_try = std::uint64_t{16} << 20;

char char_of(std::byte x) {
  return static_cast<char>(x);
}

} // namespace

std::optional<found_line_end> line_ends::next(std::uint64_t at, std::uint64_t most) {
  const bool may_be_blank =
      at != known_place_ || known_byte_ == std::byte{'\n'} || is_line_space(char_of(known_byte_));
  const auto end = place(at, most);
  if (!end)
    return std::nullopt;
  return found_line_end{.at = *end, .may_be_blank = may_be_blank};
}

std::optional<std::uint64_t> line_ends::place(std::uint64_t at, std::uint64_t most) {
  for (;;) {
    for (; used_ < found_; ++used_)
      if (places_[used_] >= at) {
        known_place_ = places_[used_] + 1;
        known_byte_ = following_[used_];
        return places_[used_];
      }
    if (searched_to_ > at && searched_to_ - at > most)
      return searched_to_;
    if (at < not_before_ || !search(std::max(at, searched_to_)))
      return std::nullopt;
  }
}

bool line_ends::search(std::uint64_t from) {
  used_ = 0;
  const auto to = objects_.find(file_, from, std::byte{'\n'}, places_, following_, found_);
  if (to)
    searched_to_ = *to;
  else
    not_before_ = from + read_before_next_try;
  return to.has_value();
}

} // namespace leat
