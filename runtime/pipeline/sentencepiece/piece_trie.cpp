#include "runtime/pipeline/sentencepiece/piece_trie.hpp"

#include <algorithm>
#include <deque>

namespace leat {

namespace {

/// Texts that share their first `depth` bytes.
struct shared_begin {
  std::uint32_t node;
  std::size_t depth;
  std::size_t first;
  std::size_t last;
};

} // namespace

piece_trie::piece_trie(std::vector<std::pair<std::string_view, std::int32_t>> pieces) {
  std::sort(pieces.begin(), pieces.end());
  nodes_.emplace_back();
  std::deque<shared_begin> left{{0, 0, 0, pieces.size()}};
  for (; !left.empty(); left.pop_front()) {
    auto [at, depth, first, last] = left.front();
    if (first < last && pieces[first].first.size() == depth)
      nodes_[at].id = pieces[first++].second;
    nodes_[at].children = static_cast<std::uint32_t>(nodes_.size());
    while (first < last) {
      const auto byte = pieces[first].first[depth];
      auto end = first;
      while (end < last && pieces[end].first[depth] == byte)
        ++end;
      left.push_back({static_cast<std::uint32_t>(nodes_.size()), depth + 1, first, end});
      nodes_.push_back({.byte = static_cast<unsigned char>(byte)});
      ++nodes_[at].num_children;
      first = end;
    }
  }
}

std::uint32_t piece_trie::next(std::uint32_t at, char byte) const noexcept {
  const auto wanted = static_cast<unsigned char>(byte);
  const auto& x = nodes_[at];
  const auto first = nodes_.begin() + x.children;
  const auto last = first + x.num_children;
  const auto found = std::lower_bound(
      first, last, wanted, [](const node& child, unsigned char of) { return child.byte < of; });
  return found != last && found->byte == wanted ? static_cast<std::uint32_t>(found - nodes_.begin())
                                                : 0;
}

std::size_t piece_trie::longest(std::string_view text) const noexcept {
  std::size_t size = 0;
  std::uint32_t at = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    at = next(at, text[i]);
    if (at == 0)
      break;
    if (id(at) != none)
      size = i + 1;
  }
  return size;
}

} // namespace leat
