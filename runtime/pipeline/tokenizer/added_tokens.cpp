#include "runtime/pipeline/tokenizer/added_tokens.hpp"

#include "runtime/pipeline/tokenizer/code_points.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

std::vector<std::pair<std::string_view, std::int32_t>>
by_text(const std::vector<added_token>& all) {
  std::vector<std::pair<std::string_view, std::int32_t>> result;
  for (std::size_t i = 0; i < all.size(); ++i)
    result.emplace_back(all[i].text, static_cast<std::int32_t>(i));
  return result;
}

/// The bytes of the character before a place that is not the beginning.
std::size_t bytes_before(std::string_view text, std::size_t end) {
  std::size_t n = 1;
  while (n < end && (static_cast<unsigned char>(text[end - n]) & 0xc0) == 0x80)
    ++n;
  return n;
}

char32_t character_at(std::string_view text, std::size_t place) {
  return decode_character(text.data() + place).code_point;
}

bool is_white_space_point(char32_t x) {
  static const auto all = white_space_points();
  return all.has(x);
}

/// Not within a word.
bool is_apart(std::string_view text, std::size_t begin, std::size_t end) {
  static const auto words = word_points();
  return (begin == 0 || !words.has(character_at(text, begin - bytes_before(text, begin))))
         && (end == text.size() || !words.has(character_at(text, end)));
}

} // namespace

added_tokens::added_tokens(std::vector<added_token> all)
    : all_(std::move(all)), trie_(by_text(all_)) {
  for (const auto& x : all_)
    begins_[static_cast<unsigned char>(x.text.front())] = true;
}

std::optional<added_tokens::place> added_tokens::find(std::string_view text, std::size_t done,
                                                      std::size_t from, bool skips_special) const {
  for (auto begin = from; begin < text.size(); ++begin) {
    if (!begins_[static_cast<unsigned char>(text[begin])])
      continue;
    std::uint32_t node = 0;
    std::int32_t found = piece_trie::none;
    auto end = begin;
    for (auto i = begin; i < text.size(); ++i) {
      node = trie_.next(node, text[i]);
      if (node == 0)
        break;
      if (trie_.id(node) != piece_trie::none) {
        found = trie_.id(node);
        end = i + 1;
      }
    }
    if (found == piece_trie::none)
      continue;
    const auto& token = all_[static_cast<std::size_t>(found)];
    const auto next = end;
    if ((skips_special && token.special) || (token.single_word && !is_apart(text, begin, end))) {
      begin = end - 1;
      continue;
    }
    if (token.takes_left)
      while (begin > done
             && is_white_space_point(character_at(text, begin - bytes_before(text, begin))))
        begin -= bytes_before(text, begin);
    if (token.takes_left)
      begin = std::max(begin, done);
    while (token.takes_right && end < text.size() && is_white_space_point(character_at(text, end)))
      end += decode_character(text.data() + end).size;
    if (begin >= end) { // all of it belongs to the token before
      begin = next - 1;
      continue;
    }
    return place{begin, end, token.id, next};
  }
  return std::nullopt;
}

} // namespace leat
