#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
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
  std::uint32_t next(std::uint32_t node, char byte) const noexcept {
    const auto at = nodes_[node].base ^ static_cast<unsigned char>(byte);
    return nodes_[at].parent == node ? at : 0;
  }
  /// The id of the text that ends at a node.
  std::int32_t id(std::uint32_t node) const noexcept { return nodes_[node].id; }
  /// Bytes of the longest text that `text` begins with; 0 for none.
  std::size_t longest(std::string_view text) const noexcept;

private:
  static constexpr std::uint32_t unused = std::numeric_limits<std::uint32_t>::max();

  /// A child stands at its parent's base, by the exclusive or with its byte: in one block of 256.
  struct place {
    std::uint32_t base = 0;
    std::uint32_t parent = unused;
    std::int32_t id = none;
  };

  class builder;

  std::vector<place> nodes_;
};

} // namespace leat
