#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/leat.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace leat::open_unit_test {
namespace {

std::string two_files(const test::temporary_directory& at) {
  std::ofstream{at / "a.txt"} << "one\ntwo\n";
  std::ofstream{at / "b.txt"} << "three\n";
  return at / "*.txt";
}

std::vector<std::string> texts_of(sequential_reader& from) {
  std::vector<std::string> texts;
  for (;;) {
    sample x;
    if (!from.next(x))
      return texts;
    texts.emplace_back(x.text("text"));
  }
}

} // namespace

TEST_CASE("samples of a unit are read in sequence without a loader") {
  const test::temporary_directory at;
  const auto data = lines(two_files(at));
  CHECK(texts_of(*open_unit(data)) == std::vector<std::string>{"one", "two"});
  CHECK(texts_of(*open_unit(data, 1)) == std::vector<std::string>{"three"});
  CHECK(code_of([&] { open_unit(data, 2); }) == errc::invalid_argument);
}

TEST_CASE("a pipeline that is more than a source, or one of another kind, has no units to open") {
  const test::temporary_directory at;
  const auto data = lines(two_files(at));
  for (const auto& x : {data.take(3), data.batch(1), count(9), standard_input()})
    CHECK(code_of([&] { open_unit(x); }) == errc::invalid_argument);
  const auto problem = problem_of([] { open_unit(zip({count(9), count(4).shuffle()})); });
  REQUIRE(problem);
  CHECK(problem->details().got == "zip(count, count.shuffle)");
}

} // namespace leat::open_unit_test
