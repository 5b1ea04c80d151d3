#pragma once

#include "runtime/pipeline/tokenizer/code_points.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

/// What becomes of a character, whatever stands beside it.
enum class character_change : std::uint8_t {
  none,
  removed,
  /// It becomes a space.
  space,
  /// It gets a space on both sides.
  apart,
};

/// Changes to characters. Does not change; any thread.
class character_changes {
public:
  /// Of sets with common characters the last one counts.
  explicit character_changes(
      std::initializer_list<std::pair<code_points, character_change>> changes);

  /// The text, which is valid UTF-8, after the changes: itself where nothing changes, otherwise
  /// `to`.
  std::string_view apply(std::string_view text, std::string& to) const;

private:
  static constexpr unsigned page_bits = 8;
  static constexpr std::size_t page_size = std::size_t{1} << page_bits;
  using page = std::array<character_change, page_size>;

  character_change of(char32_t x) const noexcept {
    return pages_[page_of_[x >> page_bits]][x & (page_size - 1)];
  }

  /// The first page has no changes.
  std::vector<page> pages_ = std::vector<page>(1);
  std::vector<std::uint16_t> page_of_ =
      std::vector<std::uint16_t>((code_points::greatest >> page_bits) + 1);
};

} // namespace leat
