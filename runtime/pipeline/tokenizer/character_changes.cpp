#include "runtime/pipeline/tokenizer/character_changes.hpp"

namespace leat {

character_changes::character_changes(
    std::initializer_list<std::pair<code_points, character_change>> changes) {
  for (const auto& [set, change] : changes)
    for (const auto& [first, last] : set.ranges())
      for (auto c = first; c <= last; ++c) {
        auto& number = page_of_[c >> page_bits];
        if (number == 0) {
          number = static_cast<std::uint16_t>(pages_.size());
          pages_.emplace_back();
        }
        pages_[number][c & (page_size - 1)] = change;
      }
}

std::string_view character_changes::apply(std::string_view text, std::string& to) const {
  to.clear();
  const auto* const end = text.data() + text.size();
  const auto* done = text.data(); // what stands before it is in `to`
  for (const auto* at = text.data(); at != end;) {
    const auto x = decode_character(at);
    const auto change = of(x.code_point);
    if (change != character_change::none) {
      to.append(done, at);
      if (change == character_change::space)
        to += ' ';
      else if (change == character_change::apart)
        to.append(1, ' ').append(at, x.size).append(1, ' ');
      done = at + x.size;
    }
    at += x.size;
  }
  if (done == text.data())
    return text;
  to.append(done, end);
  return to;
}

} // namespace leat
