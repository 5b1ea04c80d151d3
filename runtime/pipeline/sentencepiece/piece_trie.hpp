#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

/// Texts with their ids, found byte by byte.
class piece_trie {
public:
  static constexpr std::int32_t none = -1;

  /// The texts differ from each other and are not empty.
  explicit piece_trie(std::vector<std::pair<std::string_view, std::int32_t>> pieces);

  /// The node after one more byte, or 0 if no text continues with it. The root is 0.
  std::uint32_t next(std::uint32_t node, char byte) const noexcept;
  /// The id of the text that ends at a node.
  std::int32_t id(std::uint32_t node) const noexcept { return nodes_[node].id; }
  /// Bytes of the longest text that `text` begins with; 0 for none.
  std::size_t longest(std::string_view text) const noexcept;

private:
  /// Its children stand one after the other, in the order of their bytes.
  struct node {
    std::uint32_t children = 0;
    std::uint16_t num_children = 0;
    unsigned char byte = 0;
    std::int32_t id = none;
  };

  std::vector<node> nodes_;
};

} // namespace leat
