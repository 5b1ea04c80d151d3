// The C++ in the documents is code that is compiled, and run by the tests demos/getting_started and
// demos/readme_loop.

#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace leat::docs_test {
namespace {

std::string content(const std::string& name) {
  std::ifstream in(std::filesystem::path(test::source_dir) / name);
  REQUIRE(in);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Line breaks differ between clang-format here and the reader's screen there.
std::string without_spaces(std::string text) {
  auto is_space = [](unsigned char x) { return std::isspace(x) != 0; };
  text.erase(std::remove_if(text.begin(), text.end(), is_space), text.end());
  return text;
}

std::vector<std::string> code_blocks(const std::string& document,
                                     const std::string& language = "cpp") {
  const std::string begin = "```" + language + "\n";
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

/// Every block is part of the first program, or is the whole of another one.
void check_code(const std::string& document, const std::string& program, std::size_t blocks,
                const std::string& whole = {}) {
  const auto compiled = without_spaces(content(program));
  const auto found = code_blocks(content(document));
  CHECK(found.size() >= blocks);
  for (const auto& block : found) {
    if (!whole.empty() && block == content(whole))
      continue;
    INFO("in " << program << ":\n" << block);
    CHECK(compiled.find(without_spaces(block)) != std::string::npos);
  }
}

} // namespace

TEST_CASE("the training loop of the README is in a program") {
  check_code("README.md", "demos/readme_loop.cpp", 1);
}

TEST_CASE("all code of getting started is in a program") {
  check_code("docs/getting-started.md", "demos/getting_started.cpp", 23,
             "demos/own_project/main.cpp");
}

TEST_CASE("the project that getting started shows is demos/own_project, to the letter") {
  const auto page = content("docs/getting-started.md");
  const auto projects = code_blocks(page, "cmake");
  CHECK(std::count(projects.begin(), projects.end(), content("demos/own_project/CMakeLists.txt"))
        == 1);
  const auto programs = code_blocks(page);
  CHECK(std::count(programs.begin(), programs.end(), content("demos/own_project/main.cpp")) == 1);
}

} // namespace leat::docs_test
