// The bare loop, without a loader, as a program uses it.
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

#include <mutex>

namespace leat::bare_loop_test {
namespace {

/// The rows that were made: a number per row, by epoch and position.
class made_rows {
public:
  pipeline watching(const pipeline& data) {
    return data.map("watch@1", [this](sample& x, context& in) {
      const std::scoped_lock lock{mutex_};
      const auto value = x.get<std::uint64_t>("number") << 32 | in.rng()();
      is_once_ = rows_.emplace(std::pair{in.epoch(), in.position()}, value).second && is_once_;
    });
  }
  /// Forgets the sample from which the fields were learned.
  void clear() {
    rows_.clear();
    is_once_ = true;
  }
  const auto& rows() const { return rows_; }
  bool is_once() const { return is_once_; }

private:
  std::mutex mutex_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> rows_;
  bool is_once_ = true;
};

pipeline numbers(std::uint64_t records) {
  return from_function("numbers@1", records,
                       [](std::uint64_t i, sample& x) { x.set("number", i); });
}

/// Checks that a run ends with this bad sample.
void check_bad(const std::function<void()>& run, const std::string& id, const std::string& got) {
  const auto problem = thrown_by(run);
  CHECK(problem.code() == errc::bad_sample);
  CHECK(problem.details().sample == id);
  CHECK(has(problem.details().got, got));
}

} // namespace

TEST_CASE(
    "bare_loop: each row is made once, epoch after epoch, and the same by any number of threads") {
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::uint64_t> first;
  for (const std::size_t threads : {1, 2, 5}) {
    made_rows made;
    // Seven batches of three; two records are left over.
    const bare_loop loop{made.watching(numbers(23).shuffle({.seed = 4})).batch(3), threads};
    made.clear();
    REQUIRE(loop.batch_rows() == 3);
    REQUIRE(loop.epoch_rows() == 21);
    loop.run(45);
    REQUIRE(made.is_once());
    REQUIRE(made.rows().size() == 45);
    REQUIRE(made.rows().rbegin()->first == std::pair<std::uint64_t, std::uint64_t>{2, 2});
    if (threads == 1)
      first = made.rows();
    REQUIRE(made.rows() == first);
  }
}

TEST_CASE("bare_loop: it may run again, and begins with the first row each time") {
  made_rows made;
  const bare_loop loop{made.watching(numbers(10)).batch(2)};
  made.clear();
  loop.run(4);
  const auto rows = made.rows();
  made.clear();
  loop.run(4);
  REQUIRE(made.rows() == rows);
  made.clear();
  loop.run(0);
  REQUIRE(made.rows().empty());
}

TEST_CASE("bare_loop: what a map throws ends all threads") {
  std::atomic<bool> has_thrown{false};
  const auto job = numbers(100).map("fails once@1", [&](sample& x, context&) {
    if (x.get<std::uint64_t>("number") == 20 && !has_thrown.exchange(true))
      throw std::runtime_error("twenty");
  });
  const bare_loop loop{job.batch(10), 3};
  constexpr std::uint64_t no_end = std::uint64_t{1} << 60; // more rows than threads could ever make
  check_bad([&] { loop.run(no_end); }, "numbers/20", "twenty");
}

TEST_CASE("bare_loop: rows are written as a batch has them, and what does not fit is named") {
  const auto job = [](std::uint64_t odd) {
    return numbers(100)
        .map("fields@1",
             [odd](sample& x, context& at) {
               for (auto& token : x.make_ragged<std::uint32_t>("tokens", at.position() % 5, {3}))
                 token = 7;
               const auto size = at.position() == odd ? 3U : 2U;
               for (auto& value : x.make<float>("pair", {size}))
                 value = 1;
             })
        .batch(10);
  };
  for (const std::size_t threads : {1, 3}) {
    CHECK_NOTHROW(bare_loop{job(100), threads}.run(250));
    check_bad([&] { bare_loop{job(70), threads}.run(100); }, "numbers/70", "pair f32 [3]");
  }
}

TEST_CASE("bare_loop: what has no order by numbers, no end or no threads is refused") {
  const auto refuses = [](const pipeline& job, std::size_t threads = 1) {
    return code_of([&] { bare_loop{job, threads}; }) == errc::invalid_argument;
  };
  CHECK(refuses(numbers(10).shuffle_buffer(4).batch(2)));
  CHECK(refuses(numbers(10).batch(2, {.end = epoch_end::cycle})));
  CHECK(refuses(numbers(10)));
  CHECK(refuses(numbers(10).batch(2), 0));
  CHECK(refuses(numbers(10).batch(2), 4097));
  CHECK_FALSE(refuses(numbers(10).batch(2), 2));
}

TEST_CASE("indexed_sources: those of any pipeline, in data order, to be read by number") {
  const auto job =
      zip({numbers(10).shuffle().map(leat::rename("number", "a")), concat({count(3), numbers(4)})})
          .batch(2);
  const auto found = indexed_sources(job);
  REQUIRE(found.size() == 3);
  REQUIRE(found[0]->size() == 10);
  REQUIRE(found[1]->size() == 3);
  REQUIRE(found[2]->size() == 4);
  sample x;
  found[0]->read(7, x);
  REQUIRE(x.get<std::uint64_t>("number") == 7);
}

} // namespace leat::bare_loop_test
