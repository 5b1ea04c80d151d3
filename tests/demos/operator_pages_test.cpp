// The pages of docs/operators: their pipelines parse, are those of their C++, and give what the
// pages show.

#include "runtime/pipeline/operator_type.hpp"
#include "tests/demos/operator_examples.hpp"
#include "tests/demos/pages.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/other_program.hpp"
#include "tests/support/places.hpp"
#include "tests/support/standard.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/leat.hpp>

#include <cctype>

namespace leat::operator_pages_test {
namespace {

const std::filesystem::path pages = std::filesystem::path{test::source_dir} / "docs/operators";

struct page {
  std::string name;
  std::string text;
};

std::vector<page> all_pages() {
  std::vector<page> result;
  for (const auto& entry : std::filesystem::directory_iterator{pages})
    if (entry.path().extension() == ".md" && entry.path().stem() != "README")
      result.push_back({entry.path().stem().string(), read_file(entry.path().string())});
  REQUIRE(result.size() >= 25);
  return result;
}

std::vector<std::string> blocks(const page& x, const std::string& kind) {
  return test::blocks_of(x.text, kind);
}

/// Writes each pipeline to the file that its first line, a comment, names.
void write_pipelines(const page& x, const test::temporary_directory& to) {
  for (const auto& block : blocks(x, "leat")) {
    REQUIRE(block.starts_with("# "));
    std::ofstream{to / block.substr(2, block.find('\n') - 2)} << block;
  }
}

/// What a block of commands prints, in its own form: each after "$ ", then its output.
std::string played(const std::string& session, const test::temporary_directory& at) {
  const auto command_folder = std::filesystem::path{test::leat_command}.parent_path().string();
  const auto before = "cd '" + at.path() + "' && PATH='" + command_folder + "':\"$PATH\" && ";
  std::string result;
  std::istringstream lines{session};
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("$ "))
      continue;
    const auto done = run_process({"/bin/sh", "-c", before + line.substr(2)}, at / ".output");
    INFO(line);
    CHECK(done.code == 0);
    result += line + '\n' + done.output;
  }
  return result;
}

/// The ids of a pipeline's batches, one line per batch.
std::string ids_of(const pipeline& data) {
  std::string result;
  loader x{data, {}};
  while (auto batch = x.next()) {
    for (const char* between = ""; const auto& id : batch->ids())
      result += std::exchange(between, " ") + id;
    result += '\n';
  }
  return result;
}

} // namespace

TEST_CASE("every operator has a page, and the list of pages names it") {
  const auto list = read_file((pages / "README.md").string());
  for (const auto& x : operator_types()) {
    const auto file = std::string{x.word} + ".md";
    INFO(file);
    CHECK(std::filesystem::exists(pages / file));
    CHECK(list.find('(' + file + ')') != std::string::npos);
  }
}

TEST_CASE("the C++ of all pages is compiled") {
  const auto compiled = test::without_spaces(
      read_file(std::string{test::source_dir} + "/tests/demos/operator_examples.cpp"));
  for (const auto& x : all_pages()) {
    CHECK_FALSE(blocks(x, "cpp").empty());
    for (const auto& block : blocks(x, "cpp")) {
      INFO("in " << x.name << ":\n" << block);
      CHECK(compiled.find(test::without_spaces(block)) != std::string::npos);
    }
  }
}

TEST_CASE("text and C++ of a page are one pipeline") {
  const auto examples = test::operator_examples();
  for (const auto& x : all_pages()) {
    INFO(x.name);
    const auto texts = blocks(x, "leat");
    if (!texts.empty())
      CHECK(to_string(parse_pipeline(texts.front())) == to_string(examples.at(x.name)()));
  }
}

TEST_CASE("commands on the pages print what the pages show") {
  for (const auto& x : all_pages()) {
    INFO(x.name);
    const test::temporary_directory at;
    write_pipelines(x, at);
    const auto sessions = blocks(x, "console");
    CHECK(sessions.empty() == blocks(x, "leat").empty());
    for (const auto& session : sessions)
      CHECK(played(session, at) == session);
  }
}

TEST_CASE("pipelines that need a program give the ids that their pages show") {
  const auto examples = test::operator_examples();
  std::size_t shown = 0;
  for (const auto& x : all_pages())
    for (const auto& ids : blocks(x, "ids")) {
      INFO(x.name);
      CHECK(ids_of(examples.at(x.name)()) == ids);
      ++shown;
    }
  CHECK(shown == 3);
}

TEST_CASE("a filter of one's own judges content") {
  CHECK(ids_of(test::operator_examples().at("filter of its own")())
        == "count/0 count/2 count/4\ncount/6 count/8\n");
}

} // namespace leat::operator_pages_test
