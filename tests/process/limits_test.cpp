#include "runtime/pipeline/operator_type.hpp"
#include "tests/support/command.hpp"
#include "tests/support/sanitized.hpp"

#include <unistd.h>

// Absurd sizes and counts for every number that a pipeline or a job takes, in every operator, lead
// to a batch or to an error, in little time and memory.
namespace leat::test::limits_test {
namespace {

/// A pipeline for each number of each operator, with # in its place. Lists of numbers have it once.
const std::map<std::string, std::string> examples{
    {"count records", "count(#).batch(2)"},
    {"count bytes", "count(4, record_bytes=#).batch(2)"},
    {"raw_records dims", R"(raw_records("DIR/raw", dtype="u8", shape=[#]).batch(2))"},
    {"tokens length", R"(tokens("DIR/raw", dtype="u8", length=#).batch(2))"},
    {"tokens stride", R"(tokens("DIR/raw", dtype="u8", length=2, stride=#).batch(2))"},
    {"tokens random_windows",
     R"(tokens("DIR/raw", dtype="u8", length=2, random_windows=#).batch(2))"},
    {"tokens seed",
     R"(tokens("DIR/raw", dtype="u8", length=2, random_windows=4, seed=#).batch(2))"},
    {"tar_stream seed", R"(tar_stream("DIR/a.tar", file_order="shuffled", seed=#).batch(2))"},
    {"lines ranges", R"(lines("DIR/lines", ranges=#).batch(2, lanes=2))"},
    {"lines seed", R"(lines("DIR/lines", file_order="shuffled", seed=#).batch(2))"},
    {"json_lines ranges", R"(json_lines("DIR/json", ranges=#).batch(2, lanes=2))"},
    {"json_lines seed", R"(json_lines("DIR/json", file_order="shuffled", seed=#).batch(2))"},
    {"shuffle seed", "count(4).shuffle(seed=#).batch(2)"},
    {"shuffle window", R"(tar_shards("DIR/a.tar").shuffle(kind="windowed", window=#).batch(2))"},
    {"take n", "count(4).take(#).batch(2)"},
    {"skip n", "count(4).skip(#).batch(2)"},
    {"repeat n", "count(4).repeat(#).batch(2)"},
    {"sample seed", "count(4).sample(1, seed=#).batch(2)"},
    {"shuffle_buffer n", "count(4).shuffle_buffer(#).batch(2)"},
    {"shuffle_buffer seed", "count(4).shuffle_buffer(4, seed=#).batch(2)"},
    {"deduplicate keys", R"(count(4).deduplicate(["value"], keys=#).batch(2))"},
    {"length_bucket boundaries",
     R"(count(4).length_bucket("value", [#], group=1, window=2).batch(2, lanes=1))"},
    {"length_bucket group",
     R"(count(4).length_bucket("value", [4], group=#, window=4).batch(2, lanes=1))"},
    {"token_budget tokens", R"(count(4).token_budget("value", #, rows=2).batch(2, lanes=1))"},
    {"token_budget rows", R"(count(4).token_budget("value", 4, rows=#).batch(2, lanes=1))"},
    {"length_bucket window",
     R"(count(4).length_bucket("value", [4], group=1, window=#).batch(2, lanes=1))"},
    {"pack length", R"(count(4).pack("value", #).batch(2))"},
    {"pack bins", R"(count(4).pack("value", 16, bins=#).batch(2))"},
    {"pack delimiter", R"(count(4).pack("value", 16, delimiter=[#]).batch(2))"},
    {"pack pad", R"(count(4).pack("value", 16, pad=#).batch(2))"},
    {"mix weights", "mix(count(4), count(4), weights=[1, #]).batch(2)"},
    {"mix max_repeats", R"(mix(count(4), count(9), stop="cycle", max_repeats=#).batch(2))"},
    {"mix seed", R"(mix(count(4), count(4), rule="random", seed=#).batch(2))"},
    {"batch rows", "count(4).batch(#)"},
    {"batch lanes", "count(4).batch(4, lanes=#)"}};

/// A source that only a program can register.
bool is_for_programs(const std::string& op) {
  return op == "sequential" || op == "parquet" || op == "arrow";
}

const words extremes =
    words_of("0 1 65537 16777216 1000000000 2147483647 4294967296 1099511627776 4611686018427387905"
             " 9223372036854775807 18446744073709551615");

class limits_bench : public command_bench {
public:
  limits_bench() {
    write("lines", "a\nb\nc\nd\n");
    write("json", "{\"x\": 1}\n{\"x\": 2}\n{\"x\": 3}\n");
    write("raw", std::string(64, 'x'));
    make_photos(at / "shards", 4, 1);
    std::filesystem::rename(at / "shards/train-000000.tar", at / "a.tar");
  }

  /// Checks that it ends soon and in little memory: with success, or with an error that names what
  /// was needed.
  void check(const words& line) const {
    CAPTURE(line);
    // Sanitizers reserve more address space than there is memory.
    const auto x = leat(line, sanitized ? "" : "ulimit -v 3000000; ulimit -t 10;");
    CAPTURE(x.code, x.errors);
    REQUIRE((x.code == 0 || x.code == 1 || x.code == 2));
    if (x.code == 0)
      return;
    for (const auto* bare : {"std::", "vector::", "basic_"})
      REQUIRE_FALSE(contains(x.errors, bare));
    REQUIRE(contains(x.errors, "needed"));
  }

  void check_pipeline(const std::string& text) const {
    CAPTURE(text);
    check(words_of("run --steps 1 --workers 1") + pipeline(text));
  }
};

TEST_CASE("limits: every number of every operator") {
  limits_bench x;
  for (const auto& op : operator_types())
    for (const auto& option : op.options) {
      if (option.type != option_type::number && option.type != option_type::numbers)
        continue;
      const auto name = std::string{op.word} + " " + std::string{option.name};
      CAPTURE(name);
      if (is_for_programs(std::string{op.word}))
        continue;
      REQUIRE(examples.contains(name));
      for (const auto& number : extremes) {
        auto text = examples.at(name);
        x.check_pipeline(text.replace(text.find('#'), 1, number));
      }
    }
}

TEST_CASE("limits: what the machine has no memory for is refused at once") {
  const auto memory = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES))
                      * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto rows = std::to_string(memory / 2 >> 20);
  limits_bench x;
  std::vector<std::string> pipelines{
      // There is memory for one batch, but not for all that are made concurrently.
      "count(" + rows + ", record_bytes=1048576).batch(" + rows + ")"};
  if (memory < std::uint64_t{36} << 30)
    pipelines.emplace_back(R"(count(4).pack("value", 2147483647).batch(1, end="mask"))");
  for (const auto& text : pipelines) {
    CAPTURE(text);
    x.says(words_of("run --steps 1") + x.pipeline(text), 1, {"this machine's memory"},
           "ulimit -t 5; ulimit -S -v unlimited;");
  }
}

TEST_CASE("limits: every number of a job") {
  limits_bench x;
  for (const auto* option :
       {"--seed", "--epoch", "--global-batch", "--lanes", "--window", "--epochs", "--steps",
        "--world-size", "--workers", "--snapshot-every", "--keep"})
    for (const auto& number : extremes) {
      std::map<std::string, std::string> options{
          {"--global-batch", "4"}, {"--steps", "1"}, {"--workers", "1"}};
      options[option] = number;
      if (option == std::string{"--window"})
        options["--shuffle"] = "windowed";
      if (option == std::string{"--snapshot-every"} || option == std::string{"--keep"}) {
        options["--snapshot-dir"] = x.at / "snapshots";
        std::filesystem::remove_all(x.at / "snapshots");
      }
      words line{"run", "count:4"};
      for (const auto& [name, value] : options)
        line = line + words{name, value};
      x.check(line);
    }
  for (const auto& number : extremes) {
    for (std::string line :
         {"run count:# --steps 1", "run count:5:# --steps 1", "order count:5 --steps #",
          "replay count:500 --step #", "order DIR/{0..#}.tar", "run count:50 --leave-out 0..#",
          "run count:50 --resize #:2 --workers 1"})
      x.check(words_of(x.filled_in(line.replace(line.find('#'), 1, number))));
  }
  x.check({"order", "{0..9999}{0..9999}{0..9999}.tar"});
}

} // namespace
} // namespace leat::test::limits_test
