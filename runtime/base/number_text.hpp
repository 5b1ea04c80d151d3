#pragma once

#include <charconv>
#include <iterator>
#include <string>

namespace leat {

/// Shortest text that reads back as the same number.
template <class T>
std::string number_text(T x) {
  char buffer[32];
  return {buffer, std::to_chars(std::begin(buffer), std::end(buffer), x).ptr};
}

} // namespace leat
