// Reads ahead of what is expected, over a store whose reads end later, in any order, in pieces.

#include "runtime/storage/local_store.hpp"
#include "runtime/storage/read_now.hpp"
#include "runtime/storage/remote/expected_reads.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/far_store.hpp"
#include "tests/support/files.hpp"
#include "tests/support/in_threads.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/temporary_directory.hpp"

#include <atomic>
#include <random>

namespace leat::expected_reads_test {
namespace {

using namespace leat::test;

std::string read_text(stored_objects& from, const expected_range& x,
                      const std::stop_token& stop = {}) {
  std::string text(x.size, '\0');
  read_now(from, x.object, x.offset, std::as_writable_bytes(std::span{text}), stop);
  return text;
}

struct two_files {
  temporary_directory dir;
  std::vector<std::string> texts;

  explicit two_files(std::uint64_t seed) {
    std::mt19937_64 random{seed};
    for (const std::string name : {"a", "b"}) {
      texts.push_back(random_bytes(random, 200'000));
      write_content(dir / name, texts.back());
    }
  }
  std::vector<std::string> names() const { return {dir / "a", dir / "b"}; }
  std::vector<expected_range> random_ranges(std::mt19937_64& random, std::size_t count) const {
    std::vector<expected_range> ranges;
    for (std::size_t i = 0; i < count; ++i) {
      const auto size = random() % 4 == 0 ? 1 + random() % 900 : 1 + random() % 20'000;
      ranges.push_back({random() % 2, random() % (200'000 - size), size});
    }
    return ranges;
  }
  std::string want(const expected_range& x) const {
    return texts[x.object].substr(x.offset, x.size);
  }
};

TEST_CASE("expected reads: any threads get the right bytes, whatever was expected and fits") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    const two_files files{seed};
    std::mt19937_64 random{seed};
    const far_store store{{.seed = seed}};
    byte_budget budget{seed % 3 == 0 ? 30'000U : 1'000'000U};
    {
      expected_reads reads{store.open(files.names()), budget};
      const auto ranges = files.random_ranges(random, 300);
      std::atomic<std::size_t> told = 0;
      std::atomic<std::size_t> next = 0;
      std::atomic<std::size_t> wrong = 0;
      in_threads(4, [&](unsigned) {
        for (auto i = next++; i < ranges.size(); i = next++) {
          if (const auto at = told.exchange(std::min(i + 40, ranges.size())); at < i + 40)
            reads.expect_soon(std::span{ranges}.subspan(at, std::min(i + 40, ranges.size())
                                                                - std::min(at, i + 40)));
          if (i % 7 != 0) // some are never read
            wrong += read_text(reads, ranges[i]) != files.want(ranges[i]) ? 1 : 0;
        }
      });
      CHECK(wrong == 0);
      CHECK(budget.used() <= budget.limit());
      reads.expect_nothing();
    }
    CHECK(budget.used() == 0);
  }
}

TEST_CASE(
    "expected reads: they are begun before anybody reads, in order, as far as there is room") {
  const two_files files{1};
  far_store store{{.one_short_in = 0}};
  byte_budget budget{25'000};
  expected_reads reads{store.open(files.names()), budget};
  store.hold_after(0);
  const std::vector<expected_range> ranges{{0, 0, 10'000}, {1, 500, 10'000}, {0, 50'000, 10'000}};
  CHECK(reads.expect_soon(ranges));
  store.wait_for_reads(2);
  CHECK(budget.used() == 20'000);
  CHECK(reads.bytes_held() == 20'000);
  store.release();
  for (const auto& x : ranges)
    CHECK(read_text(reads, x) == files.want(x));
  CHECK(store.seen().ended == 3); // none twice
  CHECK(budget.used() == 0);
}

TEST_CASE("expected reads: what does not fit is read all the same") {
  const two_files files{2};
  const far_store store{{}};
  byte_budget budget{0};
  expected_reads reads{store.open(files.names()), budget};
  const std::vector<expected_range> ranges{{0, 0, 10'000}, {1, 500, 10'000}};
  reads.expect_soon(ranges);
  for (const auto& x : ranges)
    CHECK(read_text(reads, x) == files.want(x));
  CHECK(budget.used() == 0);
}

TEST_CASE("expected reads: what was expected long before, and never read, leaves its room") {
  const two_files files{3};
  const far_store store{{.one_short_in = 0}};
  byte_budget budget{100'000};
  expected_reads reads{store.open(files.names()), budget};
  std::vector<expected_range> never;
  for (std::uint64_t i = 0; i < 10; ++i)
    never.push_back({1, i * 10'000, 9'000});
  reads.expect_soon(never);
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const expected_range x{0, i * 30, 2000};
    reads.expect_soon({&x, 1});
    CHECK(read_text(reads, x) == files.want(x));
  }
  CHECK(reads.bytes_held() == 0);
}

TEST_CASE("expected reads: small ones of one block are one read") {
  const two_files files{4};
  const far_store store{{.one_short_in = 0}};
  byte_budget budget{100'000};
  expected_reads reads{store.open(files.names()), budget};
  std::vector<expected_range> ranges;
  for (std::uint64_t i = 0; i < 8; ++i)
    ranges.push_back({0, i * 1000, 900});
  reads.expect_soon(ranges);
  for (const auto& x : ranges)
    CHECK(read_text(reads, x) == files.want(x));
  CHECK(store.seen().ended <= 2); // the last one goes into a second block
}

TEST_CASE("expected reads: a failure is that of the read itself, and is not kept") {
  const two_files files{5};
  std::atomic<bool> fails{true};
  far_store store{{.one_short_in = 0, .fail = [&](const std::string& name, std::uint64_t offset) {
                     return fails ? std::optional{error(
                                errc::io, {.file = name, .offset = offset, .got = "503"})}
                                  : std::nullopt;
                   }}};
  byte_budget budget{100'000};
  expected_reads reads{store.open(files.names()), budget};
  const expected_range x{1, 700, 5000};
  reads.expect_soon({&x, 1});
  check_error([&] { read_text(reads, x); }, {.code = errc::io, .offset = 700, .got = "503"});
  fails = false;
  reads.expect_soon({&x, 1});
  CHECK(read_text(reads, x) == files.want(x));
}

TEST_CASE("expected reads: a wait for one ends when told to stop, and its memory is left alone") {
  const two_files files{6};
  far_store store{{.one_short_in = 0}};
  byte_budget budget{100'000};
  expected_reads reads{store.open(files.names()), budget};
  store.hold_after(0);
  const expected_range x{0, 0, 5000};
  reads.expect_soon({&x, 1});
  store.wait_for_reads(1);
  std::stop_source stop;
  std::string text(5000, '-');
  std::optional<error> problem;
  std::thread reader{[&] {
    problem = problem_of(
        [&] { read_now(reads, 0, 0, std::as_writable_bytes(std::span{text}), stop.get_token()); });
  }};
  stop.request_stop();
  reader.join();
  REQUIRE(problem);
  CHECK(problem->code() == errc::io);
  store.release();
  CHECK(text == std::string(5000, '-'));
  CHECK(read_text(reads, x) == files.want(x));
}

} // namespace
} // namespace leat::expected_reads_test
