// The C++ in the documents is code that is compiled, and run by the tests demos/getting_started and
// demos/readme_loop.

#include "tests/demos/pages.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/other_program.hpp"
#include "tests/support/places.hpp"
#include "tests/support/standard.hpp"

#include <cctype>

namespace leat::docs_test {
namespace {

std::string content(const std::string& name) {
  auto text = read_file(std::string{test::source_dir} + "/" + name);
  REQUIRE_FALSE(text.empty());
  return text;
}

/// Every block is part of the first program, or is the whole of another one.
void check_code(const std::string& document, const std::string& program, std::size_t blocks,
                const std::string& whole = {}) {
  const auto compiled = test::without_spaces(content(program));
  const auto found = test::blocks_of(content(document), "cpp");
  CHECK(found.size() >= blocks);
  for (const auto& block : found) {
    if (!whole.empty() && block == content(whole))
      continue;
    INFO("in " << program << ":\n" << block);
    CHECK(compiled.find(test::without_spaces(block)) != std::string::npos);
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
  const auto projects = test::blocks_of(page, "cmake");
  CHECK(std::count(projects.begin(), projects.end(), content("demos/own_project/CMakeLists.txt"))
        == 1);
  const auto programs = test::blocks_of(page, "cpp");
  CHECK(std::count(programs.begin(), programs.end(), content("demos/own_project/main.cpp")) == 1);
}

} // namespace leat::docs_test
