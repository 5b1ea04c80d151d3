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
  store.release();
  for (const auto& x : ranges)
    CHECK(read_text(reads, x) == files.want(x));
  CHECK(store.seen().ended == 3); // none twice
  CHECK(budget.used() == 0);
}

TEST_CASE("expected reads: what may be expected is begun at once, and is one read when it is") {
  const two_files files{6};
  far_store store{{.one_short_in = 0}};
  byte_budget budget{200'000};
  expected_reads reads{store.open(files.names()), budget};
  const std::vector<expected_range> ranges{{0, 0, 10'000}, {1, 500, 10'000}, {0, 50'000, 10'000}};
  CHECK(reads.expect_perhaps(std::span{ranges}.first(1)));
  CHECK(reads.expect_perhaps(ranges));
  CHECK(budget.used() == 30'000);
  CHECK(read_text(reads, ranges[0]) == files.want(ranges[0])); // by who looks at it first
  CHECK(reads.expect_soon(ranges));
  for (const auto& x : ranges)
    CHECK(read_text(reads, x) == files.want(x));
  CHECK(store.seen().ended == 3); // none twice
  CHECK(budget.used() == 0);
}

TEST_CASE("expected reads: what may be expected has the way for itself, and then the rest begins") {
  const two_files files{11};
  far_store store{{.one_short_in = 0}};
  byte_budget budget{200'000};
  expected_reads reads{store.open(files.names()), budget};
  store.hold_after(0);
  const std::vector<expected_range> perhaps{{0, 0, 10'000}, {1, 500, 10'000}};
  reads.expect_perhaps(perhaps);
  auto sure = perhaps;
  sure.push_back({0, 50'000, 10'000});
  reads.expect_soon(sure);
  CHECK(budget.used() == 20'000);
  store.release();
  for (const auto& x : sure)
    CHECK(read_text(reads, x) == files.want(x));
  CHECK(store.seen().ended == 3); // none twice
}

TEST_CASE("expected reads: each that ends lets more begin") {
  const two_files files{13};
  far_store store{{.one_short_in = 0}};
  byte_budget budget{2'000'000};
  expected_reads reads{store.open(files.names()), budget};
  store.hold_after(0);
  std::vector<expected_range> ranges;
  for (std::uint64_t i = 0; i < 180; ++i)
    ranges.push_back({i % 2, i * 1'000, 10'000});
  reads.expect_soon(ranges);
  CHECK(budget.used() == 640'000);
  store.hold_after(10);
  while (store.seen().ended < 10 || budget.used() < 830'000) // one for the first, then two each
    std::this_thread::yield();
  CHECK(budget.used() == 830'000);
  store.release();
  while (store.seen().ended < ranges.size())
    std::this_thread::yield();
  for (const auto& x : ranges)
    CHECK(read_text(reads, x) == files.want(x));
  CHECK(store.seen().ended == ranges.size()); // none twice
  CHECK(budget.used() == 0);
}

TEST_CASE("expected reads: a job that begins elsewhere does not wait for its first rows") {
  const two_files files{12};
  far_store store{{.one_short_in = 0}};
  byte_budget budget{200'000};
  expected_reads reads{store.open(files.names()), budget};
  store.hold_after(0);
  const expected_range perhaps{0, 0, 10'000};
  const std::vector<expected_range> sure{{0, 50'000, 10'000}, perhaps};
  reads.expect_perhaps({&perhaps, 1});
  reads.expect_soon(sure);
  CHECK(budget.used() == 20'000);
  store.release();
  for (const auto& x : sure)
    CHECK(read_text(reads, x) == files.want(x));
}

TEST_CASE("expected reads: what might have been expected leaves its room to what is") {
  for (const bool is_in_flight : {false, true}) {
    CAPTURE(is_in_flight);
    const two_files files{7};
    far_store store{{.one_short_in = 0}};
    byte_budget budget{400'000};
    expected_reads reads{store.open(files.names()), budget};
    if (is_in_flight)
      store.hold_after(0);
    std::vector<expected_range> perhaps;
    for (std::uint64_t i = 0; i < 10; ++i)
      perhaps.push_back({1, i * 10'000, 9'000});
    reads.expect_perhaps(perhaps);
    CHECK(budget.used() == 90'000);
    std::vector<expected_range> sure{perhaps[3]};
    for (std::uint64_t i = 0; i < 10; ++i)
      sure.push_back({0, i * 10'000, 9'000});
    reads.expect_soon(sure);
    store.release();
    for (const auto& x : sure)
      CHECK(read_text(reads, x) == files.want(x));
    while (budget.used() > 0) // until the last of those that nobody reads has come
      std::this_thread::yield();
  }
}

TEST_CASE("expected reads: what may be expected takes a quarter of the budget at most") {
  const two_files files{8};
  const far_store store{{.one_short_in = 0}};
  byte_budget budget{100'000};
  expected_reads reads{store.open(files.names()), budget};
  std::vector<expected_range> perhaps;
  for (std::uint64_t i = 0; i < 10; ++i)
    perhaps.push_back({1, i * 10'000, 9'000});
  reads.expect_perhaps(perhaps);
  CHECK(budget.used() == 18'000);
  for (const auto& x : perhaps)
    CHECK(read_text(reads, x) == files.want(x));
  CHECK(budget.used() == 18'000); // it may be expected yet
  reads.expect_nothing();
  CHECK(budget.used() == 0);
}

TEST_CASE("expected reads: what is expected already is not kept because it may be expected") {
  const two_files files{9};
  const far_store store{{.one_short_in = 0}};
  byte_budget budget{100'000};
  expected_reads reads{store.open(files.names()), budget};
  const expected_range x{0, 0, 9'000};
  reads.expect_soon({&x, 1});
  reads.expect_perhaps({&x, 1});
  CHECK(read_text(reads, x) == files.want(x));
  CHECK(store.seen().ended == 1);
  CHECK(budget.used() == 0);
}

TEST_CASE("expected reads: what may be expected does not wait for room") {
  const two_files files{10};
  const far_store store{{.one_short_in = 0}};
  byte_budget budget{100'000};
  transfer_counts counts;
  expected_reads reads{store.open(files.names()), budget, counts};
  const expected_range perhaps{1, 0, 9'000};
  const expected_range sure{0, 0, 5'000};
  budget.take_anyway(95'000);
  reads.expect_perhaps({&perhaps, 1});
  CHECK(counts.budget_waits == 0);
  budget.give_back(95'000);
  reads.expect_soon({&sure, 1});
  CHECK(budget.used() == 5'000);
  CHECK(read_text(reads, sure) == files.want(sure));
  CHECK(read_text(reads, perhaps) == files.want(perhaps));
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

TEST_CASE("expected reads: small ones far from each other are read as they are") {
  block_ranges blocks;
  std::uint64_t bytes = 0;
  std::size_t as_they_are = 0;
  for (std::uint64_t i = 0; i < 400; ++i) {
    const expected_range x{0, i * 10'000, 100};
    const auto got = blocks.widened(x);
    CHECK((got.offset <= x.offset && got.offset + got.size >= x.offset + x.size));
    bytes += got.size;
    as_they_are += got.size == x.size ? 1 : 0;
  }
  CHECK(as_they_are > 350);
  CHECK(bytes < 400'000);
  // In sequence again, blocks pay again.
  as_they_are = 0;
  for (std::uint64_t i = 0; i < 400; ++i)
    as_they_are += blocks.widened({1, i * 100, 100}).size == 100 ? 1 : 0;
  CHECK(as_they_are < 50);
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

TEST_CASE("read buffers: what is given back serves the next read, within the budget") {
  byte_budget budget{1'000'000};
  const auto buffers = std::make_shared<read_buffers>(budget);
  auto first = buffers->take(100'000);
  first[99'999] = std::byte{7};
  const auto* const at = first.get();
  first.reset();
  auto second = buffers->take(99'000);
  CHECK(second.get() == at);
  CHECK(second[99'999] == std::byte{7}); // the same memory
  budget.take_anyway(1'000'000);
  second.reset(); // there is no room to keep it
  budget.give_back(1'000'000);
  auto other = buffers->take(200'000);
  other.reset();
  CHECK(buffers->take(50'000).get() != nullptr); // not a buffer four times as large
  auto last = buffers->take(300'000);
  last[299'999] = std::byte{1};
}

} // namespace
} // namespace leat::expected_reads_test
