#include "tests/support/command.hpp"
#include "tests/support/packing.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/tar_writer.hpp"

// Jobs under many memory limits (ulimit -v), from far too little to enough: each ends by itself,
// with success or with an error, and none by a signal.
namespace leat::test::memory_limits_test {
namespace {

constexpr std::uint64_t least_kb = 60'000;
constexpr std::uint64_t most_kb = 130'000;
constexpr std::uint64_t step_kb = 2'000;
/// Enough for the same job on any machine: its threads' arenas, of 64 MiB each, come as they may.
constexpr std::uint64_t plenty_kb = 4'000'000;

/// Checks that the job ended with success, or with an error in leat's own words.
void check_end(const outcome& x) {
  REQUIRE((x.code == 0 || x.code == 1));
  if (x.code == 1)
    REQUIRE(contains(x.errors, "leat run: "));
  REQUIRE_FALSE(contains(x.errors, "terminate called"));
  REQUIRE_FALSE(contains(x.errors, "TLS destructor"));
}

/// `shift_kb` differs between jobs, so that no two try the same limits.
void run_under_limits(const command_bench& x, const words& job, std::uint64_t shift_kb) {
  if (sanitized)
    return; // sanitizers reserve more address space than there is memory
  bool is_enough = false;
  for (auto kb = least_kb + shift_kb; kb <= plenty_kb; kb = kb < most_kb ? kb + step_kb : 2 * kb) {
    std::filesystem::remove_all(x.at / "snapshots");
    const auto got = x.leat(words{"run"} + job + words{"--workers", "3"},
                            "ulimit -c 0; ulimit -v " + std::to_string(kb) + "; ulimit -t 60;");
    CAPTURE(kb, job, got.code, got.errors);
    check_end(got);
    is_enough = got.code == 0;
  }
  CHECK(is_enough); // the last one
}

std::string json_text(int rows) {
  std::string text;
  for (int i = 0; i < rows; ++i)
    text +=
        json{{"x", i}, {"t", std::string(static_cast<std::size_t>(i % 200), 'w')}}.dump() + '\n';
  return text;
}

TEST_CASE("memory limits: lines, which iterators order") {
  command_bench x;
  std::ofstream{x.at / "a.jsonl"} << json_text(20'000);
  run_under_limits(x, {x.at / "a.jsonl"}, 0);
}

TEST_CASE("memory limits: compressed lines, which threads unpack ahead") {
  command_bench x;
  const auto packed = gzip(json_text(20'000));
  for (const auto* name : {"a.jsonl.gz", "b.jsonl.gz", "c.jsonl.gz"})
    tar_writer::write(x.at / name, packed);
  const auto job = x.pipeline(R"(json_lines("DIR/*.jsonl.gz").batch(33, lanes=3, end="drop"))");
  run_under_limits(x, job + words{"--steps", "100"}, 500);
}

TEST_CASE("memory limits: snapshots") {
  command_bench x;
  run_under_limits(x, {"count:2000", "--snapshot-dir", x.at / "snapshots", "--snapshot-every", "5"},
                   1'000);
}

} // namespace
} // namespace leat::test::memory_limits_test
