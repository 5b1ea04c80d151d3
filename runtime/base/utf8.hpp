#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace leat {

/// The number of bytes of the first character of `text`, which is not empty; 0 if it is not UTF-8.
std::size_t utf8_length(std::string_view text);

/// A name as UTF-8: bytes that are not, and backslashes before an x, become `\xHH` (two upper-case
/// digits). Different names stay different; valid ones without a `\x` stay as they are.
std::string as_utf8(std::string_view name);

/// Makes everything from `begin` on UTF-8 in the same way, in place.
void make_utf8(std::string& text, std::size_t begin);

/// Makes everything that `append` appends UTF-8. Used for the ids of all sources, which consist of
/// file names, keys, and what a program's own sources return.
template <class Append>
void append_as_utf8(std::string& to, Append append) {
  const auto begin = to.size();
  append(to);
  make_utf8(to, begin);
}

} // namespace leat
