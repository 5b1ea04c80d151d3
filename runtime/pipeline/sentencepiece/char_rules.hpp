#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// What one rule makes of the beginning of a text.
struct replaced_prefix {
  std::string_view text;
  /// Bytes of the original that it stands for; 0: no rule fits.
  std::size_t size = 0;
};

/// The normalization's rules of a model: which texts stand for which others. Made from the bytes
/// that SentencePiece compiles them to: the size of a double array in bytes (32 bits), the array
/// (Darts-clone's), and texts that end with a zero byte. All of them may be wrong: a place outside
/// the array, or of the texts, is no rule.
class char_rules {
public:
  /// Throws nothing: `is_whole` says whether the bytes have this form.
  explicit char_rules(std::string_view compiled);

  bool is_whole() const noexcept { return is_whole_; }
  /// By the longest rule; the text lives as long as the rules do.
  replaced_prefix replace(std::string_view text) const;
  /// Whether there may be a rule for a text that begins with two bytes, or with the first of them.
  bool may_replace(unsigned char first, unsigned char second) const;

private:
  std::vector<std::uint32_t> units_;
  std::string texts_;
  bool is_whole_ = false;
};

} // namespace leat
