#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace leat {

/// A normalization form of Unicode 9.0.0, as the package tokenizers has it: characters that came
/// later stay as they are, and marks among them are not put into an order. What became of a
/// character never changes with Unicode's versions, so it does not matter which one the machine's
/// utf8proc has. Any thread.
class text_form {
public:
  text_form(bool is_composed, bool is_compatible);

  /// The text, which is valid UTF-8, in this form: itself where it has it, otherwise `to`. In a
  /// time of n log n.
  std::string_view apply(std::string_view text, std::string& to) const;

private:
  void append(std::string_view text, std::string& to) const;

  bool is_composed_;
  bool is_compatible_;
  /// What a character has that needs more than a look.
  std::uint16_t changes_;
};

/// The text with each letter by its small one, of Unicode 17.0.0: whatever stands beside it.
std::string_view with_small_letters(std::string_view text, std::string& to);

} // namespace leat
