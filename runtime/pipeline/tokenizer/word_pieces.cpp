#include "runtime/pipeline/tokenizer/word_pieces.hpp"

#include <algorithm>
#include <cstdint>

namespace leat {

namespace {

piece_trie trie_of(const std::vector<std::pair<std::string, token_id>>& all) {
  std::vector<std::pair<std::string_view, std::int32_t>> pieces;
  pieces.reserve(all.size());
  for (const auto& [text, id] : all)
    pieces.emplace_back(text, static_cast<std::int32_t>(id));
  return piece_trie{std::move(pieces)};
}

struct longest_piece {
  std::size_t size = 0;
  std::int32_t id = piece_trie::none;
};

longest_piece longest_in(const piece_trie& trie, std::string_view text) {
  longest_piece found;
  std::uint32_t node = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    node = trie.next(node, text[i]);
    if (node == 0)
      break;
    if (const auto id = trie.id(node); id != piece_trie::none)
      found = {i + 1, id};
  }
  return found;
}

bool is_longer(std::string_view text, std::size_t most) {
  if (text.size() <= most)
    return false;
  const auto characters = std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  });
  return static_cast<std::size_t>(characters) > most;
}

} // namespace

word_pieces::word_pieces(const model& of)
    : begins_(trie_of(of.begins)), continues_(trie_of(of.continues)), unknown_(of.unknown),
      most_characters_(of.most_characters) {}

void word_pieces::encode(std::string_view word, std::vector<token_id>& to) const {
  const auto had = to.size();
  const auto* trie = &begins_;
  bool is_known = !is_longer(word, most_characters_);
  while (is_known && !word.empty()) {
    const auto found = longest_in(*trie, word);
    is_known = found.size > 0;
    to.push_back(static_cast<token_id>(found.id));
    word.remove_prefix(found.size);
    trie = &continues_;
  }
  if (is_known)
    return;
  to.resize(had);
  to.push_back(unknown_);
}

} // namespace leat
