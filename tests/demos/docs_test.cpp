// The C++ in the documents is code that is compiled, and run by the tests demos/getting_started and
// demos/readme_loop.

#include "tests/support/catch.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace {

std::string content(const std::string& name) {
  std::ifstream in(std::filesystem::path(LEAT_SOURCE_DIR) / name);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Line breaks are a matter of clang-format here and of the reader's screen there.
std::string without_spaces(std::string text) {
  auto is_space = [](unsigned char x) { return std::isspace(x) != 0; };
  text.erase(std::remove_if(text.begin(), text.end(), is_space), text.end());
  return text;
}

std::vector<std::string> code_blocks(const std::string& document) {
  const std::string begin = "```cpp\n";
  std::vector<std::string> blocks;
  for (auto at = document.find(begin); at != std::string::npos; at = document.find(begin, at)) {
    at += begin.size();
    const auto end = document.find("```", at);
    REQUIRE(end != std::string::npos);
    blocks.push_back(document.substr(at, end - at));
    at = end + 3;
  }
  return blocks;
}

void check_code(const std::string& document, const std::string& program, std::size_t blocks) {
  const auto compiled = without_spaces(content(program));
  const auto found = code_blocks(content(document));
  CHECK(found.size() >= blocks);
  for (const auto& block : found) {
    INFO("in " << program << ":\n" << block);
    CHECK(compiled.find(without_spaces(block)) != std::string::npos);
  }
}

} // namespace

TEST_CASE("the training loop of the README is in a program") {
  check_code("README.md", "demos/readme_loop.cpp", 1);
}

TEST_CASE("all code of getting started is in a program") {
  check_code("docs/getting-started.md", "demos/getting_started.cpp", 19);
}
