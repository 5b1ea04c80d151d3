#include "runtime/pipeline/sentencepiece/piece_trie.hpp"

#include <algorithm>
#include <deque>

namespace leat {

namespace {

constexpr std::size_t trie_block = 256;
/// As many free places are tried for the children of a node before they get a new block. Most nodes
/// have one child, which the first place takes.
constexpr std::size_t most_places_tried = 16;

/// Texts that share their first `depth` bytes.
struct shared_begin {
  std::uint32_t node;
  std::size_t depth;
  std::size_t first;
  std::size_t last;
};

} // namespace

/// Finds places for the children of nodes, in time that grows with the number of nodes alone.
class piece_trie::builder {
public:
  explicit builder(std::vector<place>& nodes) : nodes_(nodes) {
    add_block();
    nodes_[0].parent = taken;
  }

  /// A base with which each of the bytes, of which there is one at least, leads to a free place.
  std::uint32_t base_for(const std::vector<unsigned char>& bytes) {
    for (std::size_t tries = 0; tries < most_places_tried && !free_.empty(); ++tries) {
      const auto at = free_.front();
      free_.pop_front();
      if (nodes_[at].parent != unused)
        continue;
      const auto base = at ^ bytes.front();
      const bool fits = std::all_of(bytes.begin(), bytes.end(),
                                    [&](auto x) { return nodes_[base ^ x].parent == unused; });
      if (fits)
        return base;
      free_.push_back(at);
    }
    add_block();
    return static_cast<std::uint32_t>(nodes_.size() - trie_block);
  }

private:
  /// The root is the child of none.
  static constexpr std::uint32_t taken = unused - 1;

  void add_block() {
    const auto first = static_cast<std::uint32_t>(nodes_.size());
    nodes_.resize(nodes_.size() + trie_block);
    for (std::uint32_t i = 0; i < trie_block; ++i)
      free_.push_back(first + i);
  }

  std::vector<place>& nodes_;
  /// Places that were free when they came in.
  std::deque<std::uint32_t> free_;
};

piece_trie::piece_trie(std::vector<std::pair<std::string_view, std::int32_t>> pieces) {
  std::sort(pieces.begin(), pieces.end());
  builder places{nodes_};
  std::vector<unsigned char> bytes;
  std::vector<shared_begin> children;
  std::deque<shared_begin> left{{0, 0, 0, pieces.size()}};
  for (; !left.empty(); left.pop_front()) {
    auto [at, depth, first, last] = left.front();
    if (first < last && pieces[first].first.size() == depth)
      nodes_[at].id = pieces[first++].second;
    if (first == last)
      continue;
    bytes.clear();
    children.clear();
    while (first < last) {
      const auto byte = pieces[first].first[depth];
      auto end = first;
      while (end < last && pieces[end].first[depth] == byte)
        ++end;
      bytes.push_back(static_cast<unsigned char>(byte));
      children.push_back({0, depth + 1, first, end});
      first = end;
    }
    const auto base = places.base_for(bytes);
    nodes_[at].base = base;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      children[i].node = base ^ bytes[i];
      nodes_[children[i].node].parent = at;
      left.push_back(children[i]);
    }
  }
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
