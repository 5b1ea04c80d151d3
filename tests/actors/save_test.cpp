#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/loader.hpp>
#include <leat/snapshot.hpp>
#include <leat/sources.hpp>

#include <filesystem>
#include <optional>
#include <string>

// What a loader saves, and for whom.

namespace leat::save_test {
namespace {

pipeline training() {
  return count(100).shuffle({.seed = 1}).batch(2);
}

pipeline validation() {
  return count(10).batch(2);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// What a loader says to a batch that is not its own.
std::string refusal(loader& by, const std::string& directory, const batch& x) {
  const auto problem = problem_of([&] { by.save(directory, x); });
  REQUIRE(problem);
  CHECK(problem->code() == errc::invalid_argument);
  CHECK_FALSE(std::filesystem::exists(directory));
  return problem->what();
}

TEST_CASE("save: a batch of another loader is refused, and nothing is written") {
  for (const std::size_t workers : {0, 2}) {
    CAPTURE(workers);
    const test::temporary_directory at;
    loader train{training(), {.workers = workers}};
    loader validate{validation(), {.workers = workers}};
    const auto seen = validate.next();
    const auto text = refusal(train, at / "sets", *seen); // before it has begun, too
    CHECK(has(text, "a batch of another loader: step 0 of rank 0 of 1 of count.batch"));
    CHECK(has(text, "this loader of count.shuffle.batch"));
    for (int i = 0; i < 4; ++i)
      CHECK(train.next());
    const auto trained = train.next();
    refusal(train, at / "sets", *seen);
    refusal(validate, at / "sets", *trained);
    train.save(at / "sets", *trained);
    train.wait_saved();
    loader again{training(), {.workers = 0}};
    CHECK(again.restore(at / "sets")->step == 5);
  }
}

TEST_CASE("save: another loader of the same pipeline is another one") {
  const test::temporary_directory at;
  loader one{training(), {.workers = 1}};
  loader other{training(), {.workers = 1}};
  const auto of_one = one.next();
  CHECK(other.next());
  refusal(other, at / "sets", *of_one);
}

TEST_CASE("save: a batch whose loader has ended still has its snapshot, for no other loader") {
  const test::temporary_directory at;
  std::optional<loader> ended{std::in_place, training(), loader_options{.workers = 1}};
  const auto held = ended->next();
  ended.reset();
  loader next{training(), {.workers = 1}};
  refusal(next, at / "sets", *held);
  CHECK(next.restore_parts({held->snapshot()}).step == 1);
  CHECK(next.next()->step() == 1);
}

TEST_CASE("save: batches of before a rewind are the loader's own") {
  const test::temporary_directory at;
  loader x{validation(), {.workers = 1}};
  const auto held = x.next();
  x.rewind();
  CHECK(x.next());
  x.save(at / "sets", *held);
  x.wait_saved();
  loader again{validation(), {.workers = 0}};
  CHECK(again.restore(at / "sets")->step == 1);
}

TEST_CASE("save: an empty lease is refused") {
  const test::temporary_directory at;
  loader x{validation(), {.workers = 1}};
  lease held;
  CHECK(has(refusal(x, at / "sets", *held), "an empty lease"));
  held = x.next();
  held.reset();
  CHECK(has(refusal(x, at / "sets", *held), "an empty lease"));
}

} // namespace
} // namespace leat::save_test
