#include "runtime/pipeline/tokenizer/token_seams.hpp"

namespace leat {

void token_seams::add_token(std::string_view text) {
  if (!text.empty() && decode_character(text.data()).size == text.size())
    has_[kind_of(decode_character(text.data()).code_point)] = true;
  std::size_t last = num_kinds;
  while (!text.empty()) {
    const auto x = decode_character(text.data());
    const auto kind = kind_of(x.code_point);
    joins_[last][kind] = true;
    last = kind;
    text.remove_prefix(x.size);
  }
}

void token_seams::keep_unknown_together() {
  has_[of_others] = false; // not each of them is in a token
  for (std::size_t a = 0; a < num_kinds; ++a)
    for (std::size_t b = 0; b < num_kinds; ++b)
      if (!has_[a] && !has_[b])
        joins_[a][b] = true;
}

} // namespace leat
