#pragma once

#include <cstdint>
#include <span>

namespace leat {

/// Code points, both inclusive.
struct code_range {
  char32_t first;
  char32_t last;
};
/// What Unicode 9.0.0 has characters for, surrogates too, in order.
std::span<const code_range> ranges_of_unicode_9();

/// Every `step`th of these code points is a letter; its small letter is `by` further.
struct letter_run {
  char32_t first;
  char32_t last;
  char32_t step;
  std::int32_t by;
};
/// All letters that have one small letter, in the order of their first ones, by Unicode 17.0.0.
std::span<const letter_run> runs_of_letters();

} // namespace leat
