#include "runtime/pipeline/tokenizer/text_table.hpp"

#include <algorithm>

namespace leat {

text_table::text_table(const tokens_by_text& all) {
  if (all.empty())
    return;
  std::size_t places = 2;
  while (places < 2 * all.size())
    places *= 2;
  mask_ = places - 1;
  slots_.resize(places);
  for (const auto& [text, id] : all) {
    const auto hash = text_hash{}(text);
    auto at = hash & mask_;
    while (slots_[at].id != no_token)
      at = (at + 1) & mask_;
    slots_[at] = {mark_of(hash), static_cast<std::uint32_t>(texts_.size()),
                  static_cast<std::uint32_t>(text.size()), id};
    texts_ += text;
    longest_ = std::max(longest_, text.size());
  }
}

} // namespace leat
