#include "runtime/pipeline/tokenizer/likely_pieces.hpp"

#include "runtime/pipeline/tokenizer/code_points.hpp"
#include "runtime/pipeline/tokenizer/kept_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace leat {

namespace {

/// An unknown character costs so much more than the worst token.
constexpr double cost_of_unknown = 10;

piece_trie trie_of_pieces(const std::vector<std::pair<std::string, double>>& all) {
  std::unordered_map<std::string_view, std::int32_t> last;
  for (std::size_t i = 0; i < all.size(); ++i)
    last.insert_or_assign(all[i].first, static_cast<std::int32_t>(i));
  return piece_trie{{last.begin(), last.end()}};
}

} // namespace

likely_pieces::likely_pieces(model of)
    : model_(std::move(of)), trie_(trie_of_pieces(model_.pieces)) {
  of_unknown_ = std::min_element(model_.pieces.begin(), model_.pieces.end(),
                                 [](const auto& a, const auto& b) { return a.second < b.second; })
                    ->second
                - cost_of_unknown;
}

void likely_pieces::encode(std::string_view text, scratch& with, std::vector<token_id>& to) const {
  with.assign(text.size() + 1, {});
  const auto offer = [&](std::size_t begin, std::size_t end, double score, token_id id) {
    auto& x = with[end];
    const auto sum = score + with[begin].score;
    if (x.id == no_token || sum > x.score)
      x = {sum, static_cast<std::uint32_t>(begin), id};
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const auto size = decode_character(text.data() + begin).size;
    bool is_known = false;
    std::uint32_t node = 0;
    for (auto end = begin; end < text.size();) {
      node = trie_.next(node, text[end++]);
      if (node == 0)
        break;
      const auto id = trie_.id(node);
      if (id == piece_trie::none)
        continue;
      offer(begin, end, model_.pieces[static_cast<std::size_t>(id)].second,
            static_cast<token_id>(id));
      is_known = is_known || end == begin + size;
    }
    if (!is_known)
      offer(begin, begin + size, of_unknown_, model_.unknown);
    begin += size;
  }
  // From the end to the beginning, unknown ones joined; then turned around.
  const auto had = to.size();
  std::size_t open = 0; // the end of what is unknown
  const auto close = [&](std::size_t begin) {
    if (open == 0)
      return;
    const auto from = to.size();
    add_unknown(text.substr(begin, open - begin), to);
    std::reverse(to.begin() + static_cast<std::ptrdiff_t>(from), to.end());
    open = 0;
  };
  for (auto end = text.size(); end > 0; end = with[end].begin) {
    if (with[end].id == model_.unknown) {
      open = open == 0 ? end : open;
      continue;
    }
    close(end);
    to.push_back(with[end].id);
  }
  close(0);
  std::reverse(to.begin() + static_cast<std::ptrdiff_t>(had), to.end());
  free_large(with);
}

void likely_pieces::add_unknown(std::string_view text, std::vector<token_id>& to) const {
  if (const auto whole = piece_of(text); whole != piece_trie::none)
    return to.push_back(static_cast<token_id>(whole));
  if (!model_.has_bytes)
    return to.push_back(model_.unknown);
  for (const auto c : text)
    to.push_back(model_.bytes[static_cast<unsigned char>(c)]);
}

std::int32_t likely_pieces::piece_of(std::string_view text) const noexcept {
  std::uint32_t node = 0;
  for (const auto c : text) {
    node = trie_.next(node, c);
    if (node == 0)
      return piece_trie::none;
  }
  return trie_.id(node);
}

} // namespace leat
