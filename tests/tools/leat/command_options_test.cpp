#include "runtime/pipeline/operator_node.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/standard.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/sources.hpp>

#include "tools/leat/data_arguments.hpp"
#include "tools/leat/option_values.hpp"
#include "tools/leat/output.hpp"
#include "tools/leat/progress.hpp"
#include "tools/leat/run_options.hpp"
#include <CLI/CLI.hpp>

namespace leat::command_options_test {

using namespace leat::command;

namespace {

/// Parses a command line of `leat run`.
run_options parsed(const std::string& line) {
  CLI::App app;
  run_options x;
  add_run_options(app, x);
  app.parse(line);
  return x;
}

/// What it means on a machine with eight cores.
training_settings settings(const std::string& line) {
  return settings_of(parsed(line), 8);
}

} // namespace

TEST_CASE("numbers: decimal digits only, below 2^64") {
  REQUIRE(parse_number("0") == 0);
  REQUIRE(parse_number("18446744073709551615") == UINT64_MAX);
  for (const char* text : {"", "-1", "+1", " 1", "1 ", "1e3", "0x10", "18446744073709551616", "a"})
    REQUIRE_FALSE(parse_number(text));
}

TEST_CASE("data arguments: counts, folders and shards are distinguished") {
  test::temporary_directory at;
  REQUIRE(kind_of("count:10") == data_kind::count);
  REQUIRE(kind_of(at.path()) == data_kind::folder);
  REQUIRE(kind_of("a-{000..003}.tar") == data_kind::tar);
  REQUIRE(kind_of(at / "*.tar") == data_kind::tar);
  REQUIRE(kind_of("a.tar.gz") == data_kind::tar_stream);
  REQUIRE(kind_of("a-{0..3}.npy") == data_kind::npy);
  REQUIRE(kind_of("a.idx") == data_kind::megatron);
  REQUIRE(kind_of("a-{0..3}.jsonl.zst") == data_kind::json_lines);
  REQUIRE(kind_of(at / "*.txt") == data_kind::lines);
}

TEST_CASE("data arguments: text files are cut into ranges, other data are not") {
  auto x = data_pipeline({.data = {"a.jsonl", "b.jsonl"}, .ranges = 4});
  REQUIRE(x.root().op == "json_lines");
  REQUIRE(x.root().get<std::uint64_t>("ranges") == 4);
  REQUIRE(data_pipeline({.data = {"a.txt.gz"}}).root().op == "lines");
  REQUIRE(data_pipeline({.data = {"a.tgz"}}).root().op == "tar_stream");
  REQUIRE(data_pipeline({.data = {"a.npy", "b.npy"}})
          == npy(std::vector<std::string>{"a.npy", "b.npy"}));
  REQUIRE(data_pipeline({.data = {"a.idx"}}) == megatron("a.idx"));
  REQUIRE(code_of([] { data_pipeline({.data = {"a.tar"}, .ranges = 4}); })
          == errc::invalid_argument);
}

TEST_CASE("data arguments: shards keep the order in which they were given") {
  auto x = data_pipeline({.data = {"b-{0..3}.tar", "a*.tar"}});
  REQUIRE(x.root().op == "tar_shards");
  REQUIRE(x.root().get<std::vector<std::string>>("patterns")
          == std::vector<std::string>{"b-{0..3}.tar", "a*.tar"});
}

TEST_CASE("data arguments: a count has 8 bytes a record, or as many as it says") {
  REQUIRE(data_pipeline({.data = {"count:1000"}}).size() == 1000);
  REQUIRE(data_pipeline({.data = {"count:1000"}}) == data_pipeline({.data = {"count:1000:8"}}));
  REQUIRE_FALSE(data_pipeline({.data = {"count:1000"}})
                == data_pipeline({.data = {"count:1000:9"}}));
}

TEST_CASE("data arguments: no data, malformed counts, mixed kinds and two folders are bad usage") {
  test::temporary_directory at;
  for (const auto& data : std::vector<std::vector<std::string>>{{},
                                                                {"count:"},
                                                                {"count:x"},
                                                                {"count:0"},
                                                                {"count:5:0"},
                                                                {"count:5:"},
                                                                {"count:5:6:7"},
                                                                {"count:-5"},
                                                                {"count:1e6"},
                                                                {"count:5", "a.tar"},
                                                                {"a.tar", at.path()},
                                                                {"count:5", "count:6"},
                                                                {at.path(), at.path()}}) {
    CAPTURE(data);
    REQUIRE(code_of([&] { data_pipeline({.data = data}); }) == errc::invalid_argument);
  }
}

TEST_CASE("data arguments: virtual records are not images") {
  REQUIRE_FALSE(holds_images({.data = {"count:5"}}, data_pipeline({.data = {"count:5"}})));
}

TEST_CASE("run options: the defaults are those of the manual") {
  auto x = parsed("count:5");
  REQUIRE(x.order.seed == 0);
  REQUIRE(x.order.epoch == 0);
  REQUIRE(x.order.global_batch == 64);
  REQUIRE(x.order.lanes == 0);
  REQUIRE(!x.order.shuffle);
  REQUIRE(!x.order.window);
  REQUIRE(!x.order.end);
  auto s = settings_of(x, 8);
  REQUIRE(s.loader.world_size == 1);
  REQUIRE(s.loader.epochs == 1);
  REQUIRE(s.loader.workers == automatic);
  REQUIRE(s.loader.dispatch == dispatch_policy::on_demand);
  REQUIRE(s.loader.bad_samples == bad_sample_policy::fail);
  REQUIRE(s.loader.keep == 3);
  REQUIRE_FALSE(s.loader.hash_pixels);
  REQUIRE(s.loader.bad_sample_log.empty());
  REQUIRE(s.loader.steps == UINT64_MAX);
  REQUIRE(s.snapshot_every == 100);
}

TEST_CASE("run options: cores are shared by the ranks of a process") {
  const auto workers_of = [](const std::string& options) {
    return settings("count:5 " + options).loader.workers;
  };
  REQUIRE(workers_of("--workers auto") == automatic);
  // A fault that names a worker requires that it stays.
  REQUIRE(workers_of("--fault slow:0,1 --world-size 3") == 2);
  REQUIRE(workers_of("--fault slow:0,1 --world-size 30") == 1);
  REQUIRE(workers_of("--fault slow:0,1 --world-size 3 --rank 1") == 8);
  REQUIRE(workers_of("--fault throw:3") == automatic);
  REQUIRE(workers_of("--workers 0") == 0);
}

TEST_CASE("run options: without a rank all ranks run here, with one only that rank") {
  REQUIRE(settings("count:5 --world-size 3").ranks == 3);
  auto one = settings("count:5 --world-size 3 --rank 2");
  REQUIRE(one.ranks == 1);
  REQUIRE(one.loader.rank == 2);
}

TEST_CASE("run options: an epoch to begin with moves the end of the job") {
  auto s = settings("count:5 --epoch 3 --epochs 2");
  REQUIRE(s.first_epoch == 3);
  REQUIRE(s.loader.epochs == 5);
}

TEST_CASE(
    "run options: a log has pixel hashes, and a log of bad samples beside it if it is a file") {
  auto s = settings("count:5 --log x/log");
  REQUIRE(s.loader.hash_pixels);
  REQUIRE(s.loader.bad_sample_log == "x/log.bad");
  REQUIRE(settings("count:5 --log a --bad-log b").loader.bad_sample_log == "b");
  REQUIRE(settings("count:5 --log /dev/null").loader.bad_sample_log.empty());
  REQUIRE(settings("count:5 --log /dev/stdout").loader.bad_sample_log.empty());
}

TEST_CASE("run options: options that may be repeated take one value each") {
  auto s = settings("--resize 9:2 --resize 4:3 --fault slow:1,50 --fault throw:7 --fault die:2,8 "
                    "--fault die:0,9 --fault slow:0,3 --fault throw:6 --resume --snapshot-dir d "
                    "--allow names count:5");
  REQUIRE(s.resizes.size() == 2);
  REQUIRE(s.resizes[0].step == 4);
  REQUIRE(s.resizes[0].workers == 3);
  REQUIRE(s.resizes[1].step == 9);
  const auto& fault = *s.loader.fault;
  REQUIRE(fault.slow.size() == 2);
  REQUIRE(fault.slow[0].worker == 1);
  REQUIRE(fault.slow[0].by == std::chrono::milliseconds{50});
  REQUIRE(fault.slow[1].worker == 0);
  REQUIRE(fault.throw_at == std::vector<std::uint64_t>{7, 6});
  REQUIRE(fault.deaths.size() == 2);
  REQUIRE(fault.deaths[0].worker == 2);
  REQUIRE(fault.deaths[0].position == 8);
  REQUIRE(fault.deaths[1].worker == 0);
  REQUIRE(s.restore.allow == std::vector<std::string>{"names"});
}

TEST_CASE("run options: weights are a step of the job and a number per input") {
  const auto s = settings("--weights 9:0.5,2 --weights 4:1e3 count:5");
  REQUIRE(s.weights.size() == 2);
  CHECK(s.weights[0].step == 9);
  CHECK(s.weights[0].weights == std::vector<double>{0.5, 2});
  CHECK(s.weights[1].weights == std::vector<double>{1000});
  for (const char* text : {"9", ":1", "9:", "9:1,", "9:a", "-9:1", "9:1:2", "9: 1"}) {
    CAPTURE(text);
    CHECK(code_of([&] { settings(std::string{"count:5 --weights '"} + text + "'"); })
          == errc::invalid_argument);
  }
}

TEST_CASE("run options: a failure of a worker that there is not is refused") {
  const auto refused = [](const std::string& options) {
    return code_of([&] { settings("count:5 " + options); }) == errc::invalid_argument;
  };
  CHECK(refused("--workers 2 --fault die:2,5"));
  CHECK(refused("--workers 2 --fault slow:99,5"));
  CHECK(refused("--workers 2 --resize 4:3 --fault die:3,5"));
  CHECK_FALSE(refused("--workers 2 --resize 4:3 --fault die:2,5"));
  CHECK_FALSE(refused("--workers 0 --fault slow:0,1"));
}

TEST_CASE("run options: so many ranks are not for one process") {
  CHECK(code_of([] { settings("count:5 --world-size 1025"); }) == errc::invalid_argument);
  CHECK(settings("count:5 --world-size 1024").ranks == 1024);
  CHECK(settings("count:5 --world-size 100000 --rank 7").ranks == 1);
}

TEST_CASE("run options: names and numbers that make no sense are refused") {
  for (const auto* line : {"count:5 --seed -1",
                           "count:5 --seed 1.5",
                           "count:5 --global-batch 0",
                           "count:5 --epochs 0",
                           "count:5 --window 0",
                           "count:5 --snapshot-every 0",
                           "count:5 --world-size 0",
                           "count:5 --steps 0",
                           "count:5 --epoch 18446744073709551615",
                           "count:5 --shuffle half",
                           "count:5 --end never",
                           "count:5 --dispatch random",
                           "count:5 --transform x",
                           "count:5 --bad-sample ignore",
                           "count:5 --no-such-option",
                           "--pipeline file --seed 2",
                           "--pipeline file --global-batch 2",
                           "--pipeline file --lanes 2",
                           "--pipeline file --window 2",
                           "count:5 --pipeline file"}) {
    CAPTURE(line);
    REQUIRE_THROWS_AS(parsed(line), CLI::ParseError);
  }
}

/// The outcome for the length of `leat run` with this line.
std::optional<errc> length_refusal(const std::string& line) {
  const auto x = parsed(line);
  return code_of([&] { check_length(x, job_pipeline(x.order, x.maps)); });
}

TEST_CASE("run options: a job of one endless epoch has steps, and no epochs") {
  REQUIRE(length_refusal("count:5 --end cycle") == errc::invalid_argument);
  REQUIRE(length_refusal("count:5 --end cycle --steps 3") == std::nullopt);
  REQUIRE(length_refusal("count:5 --end cycle --epochs 1") == errc::invalid_argument);
  REQUIRE(length_refusal("count:5 --end cycle --epochs 1 --steps 3") == errc::invalid_argument);
  for (const std::string end : {"auto", "drop", "mask"}) {
    REQUIRE(length_refusal("count:5 --end " + end) == std::nullopt);
    REQUIRE(length_refusal("count:5 --epochs 2 --steps 3 --end " + end) == std::nullopt);
  }
}

TEST_CASE("run options: the end rule of a pipeline's file holds unless another is given") {
  test::temporary_directory at;
  const auto file = at / "pipeline";
  const auto length_of_file = [&](const std::string& text, const std::string& options) {
    std::ofstream{file} << text;
    return length_refusal("--pipeline " + file + " " + options);
  };
  const std::string endless = "count(9).batch(2, end=\"cycle\")";
  const std::string filtered = "count(9).filter(\"key_hash@1\", keep=50).batch(2)";
  for (const auto& text : {endless, filtered}) {
    REQUIRE(length_of_file(text, "") == errc::invalid_argument);
    REQUIRE(length_of_file(text, "--steps 3") == std::nullopt);
    REQUIRE(length_of_file(text, "--end drop") == std::nullopt);
    REQUIRE(length_of_file(text, "--end mask --epochs 2") == std::nullopt);
  }
  REQUIRE(length_of_file("count(9).batch(2)", "") == std::nullopt);
  REQUIRE(length_of_file("count(9).batch(2)", "--end cycle") == errc::invalid_argument);
  // A source that exists once ends the job when it ends.
  REQUIRE(length_of_file("standard_input().batch(2)", "") == std::nullopt);
}

TEST_CASE("run options: leading zeros do not make a number octal") {
  REQUIRE(parsed("count:5 --seed 010").order.seed == 10);
}

TEST_CASE("run options: options that do not fit each other are bad usage") {
  for (const std::string options :
       {"--resume", "--snapshot-every 3", "--keep 2", "--allow seed", "--allow-older",
        "--snapshot-dir d --allow-older", "--rank 1", "--world-size 2 --rank 2",
        "--workers 0 --resize 3:1", "--resize 3", "--resize 3:0", "--resize 3:1:1",
        "--fault slow:1", "--fault throw:x", "--fault throw", "--fault burn:1",
        "--fault die:1,2,3"}) {
    CAPTURE(options);
    REQUIRE(code_of([&] { settings("count:5 " + options); }) == errc::invalid_argument);
  }
}

TEST_CASE("run options: only parts of other ranks of the same job may be in a new directory") {
  auto rank = parsed("count:5 --world-size 3 --rank 1");
  REQUIRE(belongs_to_other_rank("epoch-0-step-4.rank-0-of-3", rank));
  REQUIRE(belongs_to_other_rank("epoch-0-step-4.rank-2-of-3.tmp", rank));
  REQUIRE_FALSE(belongs_to_other_rank("epoch-0-step-4.rank-1-of-3", rank));
  REQUIRE_FALSE(belongs_to_other_rank("epoch-0-step-4.rank-0-of-30", rank));
  REQUIRE_FALSE(belongs_to_other_rank("epoch-0-step-4.rank-0-of-2", rank));
  REQUIRE_FALSE(belongs_to_other_rank("notes.txt", rank));
  auto all = parsed("count:5 --world-size 3");
  REQUIRE_FALSE(belongs_to_other_rank("epoch-0-step-4.rank-2-of-3", all));
}

TEST_CASE("texts: numbers are written for people") {
  REQUIRE(with_commas(0) == "0");
  REQUIRE(with_commas(999) == "999");
  REQUIRE(with_commas(1000) == "1,000");
  REQUIRE(with_commas(1234567) == "1,234,567");
  REQUIRE(readable_bytes(999) == "999 bytes");
  REQUIRE(readable_bytes(1500) == "1.5 kB");
  REQUIRE(readable_bytes(47'000'000) == "47 MB");
  REQUIRE(readable_bytes(999'900'000) == "1.0 GB");
}

TEST_CASE("progress: rate and the two parts of the time") {
  training_progress x{.epoch = 1,
                      .global_step = 30,
                      .total_steps = 40,
                      .samples = 5000,
                      .elapsed = std::chrono::seconds{4},
                      .waited = std::chrono::seconds{1}};
  REQUIRE(progress_text(x, "images")
          == "epoch 1  step 30/40  1,250 images/s  waiting for data 25%, training 75%");
  x.tokens = 40'000;
  REQUIRE(
      progress_text(x, "samples")
      == "epoch 1  step 30/40  1,250 samples/s  10,000 tokens/s  waiting for data 25%, training "
         "75%");
  REQUIRE(progress_bar(0.5, 4) == "[##..]");
  REQUIRE(progress_bar(1.5, 4) == "[####]");
}

} // namespace leat::command_options_test
