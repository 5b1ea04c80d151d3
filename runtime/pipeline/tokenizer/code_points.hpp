#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat {

/// A set of code points, as ranges in order that neither touch nor overlap.
class code_points {
public:
  static constexpr char32_t greatest = 0x10ffff;
  using range = std::pair<char32_t, char32_t>; // both inclusive

  code_points() = default;
  code_points(char32_t first, char32_t last);
  /// Any ranges.
  explicit code_points(std::vector<range> ranges);

  const std::vector<range>& ranges() const noexcept { return ranges_; }
  bool empty() const noexcept { return ranges_.empty(); }
  bool has(char32_t x) const;
  code_points inverted() const;

  friend code_points operator|(const code_points& a, const code_points& b);
  friend code_points operator&(const code_points& a, const code_points& b);
  friend bool operator==(const code_points&, const code_points&) = default;
  friend bool operator<(const code_points& a, const code_points& b) {
    return a.ranges_ < b.ranges_;
  }

private:
  std::vector<range> ranges_;
};

/// The code points of a general category ("Lu") or of a group of them ("L") of Unicode 16.0.0;
/// none for another name.
code_points of_category(std::string_view name);
/// Unicode's White_Space.
code_points white_space_points();
/// What `\w` means to Rust's regular expressions: letters, marks, decimal numbers, and more.
code_points word_points();

/// What the package tokenizers takes for punctuation: ASCII's, and that of Unicode 8.0.0.
code_points punctuation_of_package();
/// What it takes for digits: numbers of Unicode 17.0.0.
code_points numbers_of_package();
/// What its normalizers take for accents: marks of Unicode 9.0.0, and for BERT nonspacing ones of
/// Unicode 8.0.0.
code_points marks_of_package();
code_points marks_of_bert();
/// What it removes for BERT: controls, formats, private characters, and U+FFFD.
code_points control_of_package();
/// What BERT puts spaces around.
code_points ideographs_of_bert();

/// The character that a text of valid UTF-8, not empty, begins with.
struct decoded_character {
  char32_t code_point;
  std::size_t size;
};
inline decoded_character decode_character(const char* at) noexcept {
  const auto byte = [&](int i) { return static_cast<char32_t>(static_cast<unsigned char>(at[i])); };
  const auto more = [&](int i) { return byte(i) & 0x3f; };
  if (byte(0) < 0x80)
    return {byte(0), 1};
  if (byte(0) < 0xe0)
    return {(byte(0) & 0x1f) << 6 | more(1), 2};
  if (byte(0) < 0xf0)
    return {(byte(0) & 0x0f) << 12 | more(1) << 6 | more(2), 3};
  return {(byte(0) & 0x07) << 18 | more(1) << 12 | more(2) << 6 | more(3), 4};
}

void append_utf8(std::string& to, char32_t x);

} // namespace leat
