#include "tests/support/drain.hpp"
#include "tests/support/heard_notices.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/loader.hpp>
#include <leat/snapshot.hpp>
#include <leat/sources.hpp>

// What a loader saves, and for whom; and who hears of what it could not save.
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
void check_foreign(loader& by, const std::string& directory, const batch& x,
                   std::initializer_list<std::string_view> parts = {}) {
  check_refusal([&] { by.save(directory, x); }, errc::invalid_argument, parts);
  CHECK_FALSE(std::filesystem::exists(directory));
}

TEST_CASE("save: a batch of another loader is refused, and nothing is written") {
  for (const std::size_t workers : {0, 2}) {
    CAPTURE(workers);
    const test::temporary_directory at;
    loader train{training(), {.workers = workers}};
    loader validate{validation(), {.workers = workers}};
    const auto seen = validate.next();
    check_foreign(train, at / "sets", *seen, // before it has begun, too
                  {"a batch of another loader: step 0 of rank 0 of 1 of count.batch",
                   "this loader of count.shuffle.batch"});
    for (int i = 0; i < 4; ++i)
      CHECK(train.next());
    const auto trained = train.next();
    check_foreign(train, at / "sets", *seen);
    check_foreign(validate, at / "sets", *trained);
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
  check_foreign(other, at / "sets", *of_one);
  CHECK(code_of([&] { (void)other.snapshot(*of_one); }) == errc::invalid_argument);
  CHECK(one.snapshot(*of_one) == of_one->snapshot());
  CHECK(one.next());
  CHECK(one.snapshot(*of_one) == of_one->snapshot());
}

TEST_CASE("save: a batch whose loader has ended still has its snapshot, for no other loader") {
  const test::temporary_directory at;
  std::optional<loader> ended{std::in_place, training(), loader_options{.workers = 1}};
  const auto held = ended->next();
  ended.reset();
  loader next{training(), {.workers = 1}};
  check_foreign(next, at / "sets", *held);
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
  check_foreign(x, at / "sets", *held, {"an empty lease"});
  held = x.next();
  held.reset();
  check_foreign(x, at / "sets", *held, {"an empty lease"});
}

// -- failures

/// A place where nothing can be saved.
class no_directory {
public:
  no_directory() { std::ofstream{path()} << "no directory"; }
  std::string path() const { return at_ / "file"; }

private:
  test::temporary_directory at_;
};

TEST_CASE("save: the end of a loader tells the failure that nobody has asked for") {
  const no_directory at;
  heard_notices heard;
  {
    loader x{training(), {.workers = 1}};
    x.save(at.path(), *x.next());
  }
  REQUIRE(heard.number() == 1);
  CHECK(has(heard.texts().front(), "a snapshot was not saved: "));
  CHECK(has(heard.texts().front(), at.path()));
}

TEST_CASE("save: so does that of a loader that was interrupted, or has failed") {
  const no_directory at;
  heard_notices heard;
  {
    loader x{training(), {.workers = 1}};
    x.save(at.path(), *x.next());
    x.interrupt();
    CHECK(code_of([&] { x.next(); }) == errc::interrupted);
  }
  CHECK(heard.number() == 1);
}

TEST_CASE("save: the end of a job tells the failure of a save that is still on its way") {
  const no_directory at;
  heard_notices heard;
  {
    loader x{validation(), {.workers = 1}};
    drain(x);
    x.save(at.path());
    heard.wait("not saved"); // although the loader lives, and nobody calls it
    CHECK(code_of([&] { x.wait_saved(); }) == errc::io);
    x.wait_saved();
  }
  CHECK(heard.number() == 1);
}

TEST_CASE("save: a failure that was thrown is not told again") {
  const no_directory at;
  heard_notices heard;
  for (const std::size_t workers : {0, 1}) {
    loader x{training(), {.workers = workers}};
    CHECK(code_of([&] {
            x.save(at.path(), *x.next());
            x.wait_saved();
          })
          == errc::io);
  }
  {
    loader x{training(), {.workers = 1}};
    x.save(at.path(), *x.next());
    while (code_of([&] { x.next(); }) != errc::io)
      x.rewind(); // it may come late
  }
  CHECK(heard.number() == 0);
}

TEST_CASE("save: wait_saved() after the end of a runtime throws what was not thrown before") {
  const no_directory at;
  heard_notices heard;
  const auto own = std::make_shared<runtime>();
  {
    loader x{training(), {.workers = 1, .runtime = own}};
    x.save(at.path(), *x.next());
    own->shutdown();
    CHECK(heard.number() == 0);
    CHECK(code_of([&] { x.wait_saved(); }) == errc::io);
  }
  CHECK(heard.number() == 0);
}

} // namespace
} // namespace leat::save_test
