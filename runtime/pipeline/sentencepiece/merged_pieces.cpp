#include "runtime/pipeline/sentencepiece/merged_pieces.hpp"

#include "runtime/pipeline/tokenizer/kept_memory.hpp"

#include <algorithm>

namespace leat {

namespace {

std::string_view joined_symbols(const merged_pieces::symbol& left,
                                const merged_pieces::symbol& right) {
  return {left.text.data(), left.text.size() + right.text.size()};
}

} // namespace

void merged_pieces::begin(std::string_view text, scratch& with) const {
  with.symbols.clear();
  with.pairs.clear();
  with.merged_at.clear();
  for (std::size_t at = 0; at < text.size();) {
    const auto rest = text.substr(at);
    const auto defined = defined_.longest(rest);
    const auto size = defined > 0 ? defined : character_bytes(rest);
    const auto number = with.symbols.size();
    at += size;
    with.symbols.push_back({number == 0 ? none : number - 1, at == text.size() ? none : number + 1,
                            defined > 0, rest.substr(0, size)});
  }
}

void merged_pieces::consider(std::size_t left, std::size_t right, scratch& with) const {
  if (left == none || right == none || with.symbols[left].is_fixed || with.symbols[right].is_fixed)
    return;
  const auto text = joined_symbols(with.symbols[left], with.symbols[right]);
  const auto found = ids_.find(text);
  if (found == ids_.end() || !is_text_piece(type_of(found->second)))
    return;
  const auto& piece = model_.pieces[static_cast<std::size_t>(found->second)];
  with.pairs.push_back({left, right, piece.score, text.size()});
  std::push_heap(with.pairs.begin(), with.pairs.end());
  if (piece.type == piece_type::unused)
    with.merged_at[text] = with.symbols[left].text.size();
}

void merged_pieces::take_apart(std::string_view piece, const scratch& with,
                               std::vector<found_piece>& to) const {
  std::vector<std::string_view> left{piece};
  while (!left.empty()) {
    const auto text = left.back();
    left.pop_back();
    const auto found = ids_.find(text);
    const auto id = found == ids_.end() ? model_.unknown : found->second;
    const auto parts = with.merged_at.find(text);
    if (type_of(id) != piece_type::unused || parts == with.merged_at.end()) {
      to.push_back({text, id});
      continue;
    }
    left.push_back(text.substr(parts->second));
    left.push_back(text.substr(0, parts->second));
  }
}

void merged_pieces::find(std::string_view text, scratch& with, std::vector<found_piece>& to) const {
  begin(text, with);
  auto& symbols = with.symbols;
  for (std::size_t i = 1; i < symbols.size(); ++i)
    consider(i - 1, i, with);
  while (!with.pairs.empty()) {
    std::pop_heap(with.pairs.begin(), with.pairs.end());
    const auto best = with.pairs.back();
    with.pairs.pop_back();
    auto& left = symbols[best.left];
    auto& right = symbols[best.right];
    if (left.text.empty() || right.text.empty()
        || left.text.size() + right.text.size() != best.size)
      continue; // one of them has become a part of another
    left.text = joined_symbols(left, right);
    left.after = right.after;
    if (right.after != none)
      symbols[right.after].before = best.left;
    right.text = {};
    consider(left.before, best.left, with);
    consider(best.left, left.after, with);
  }
  for (std::size_t i = symbols.empty() ? none : 0; i != none; i = symbols[i].after)
    take_apart(symbols[i].text, with, to);
  if (with.merged_at.bucket_count() * sizeof(void*) > most_kept_bytes)
    free_all(with.merged_at);
}

} // namespace leat
