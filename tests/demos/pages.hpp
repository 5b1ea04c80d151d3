#pragma once

#include "tests/support/catch.hpp"
#include "tests/support/standard.hpp"

namespace leat::test {

/// The contents of a page's fenced blocks of one kind.
inline std::vector<std::string> blocks_of(const std::string& page, const std::string& kind) {
  const auto begin = "```" + kind + '\n';
  std::vector<std::string> result;
  for (auto at = page.find(begin); at != std::string::npos; at = page.find(begin, at)) {
    at += begin.size();
    const auto end = page.find("```", at);
    REQUIRE(end != std::string::npos);
    result.push_back(page.substr(at, end - at));
    at = end + 3;
  }
  return result;
}

/// Line breaks differ between clang-format here and the reader's screen there.
inline std::string without_spaces(std::string text) {
  std::erase_if(text, [](unsigned char x) { return std::isspace(x) != 0; });
  return text;
}

} // namespace leat::test
