#include "tests/support/command.hpp"
#include "tests/support/packing.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/tar_writer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

// Outputs that a user names: files are replaced; anything else is written to and stays what it is.
// What the command is given to read or write is checked first.
namespace leat::test::outputs_test {
namespace {

namespace fs = std::filesystem;

/// A command that writes one output, whose name follows it.
struct output_case {
  words command;
  /// Appends to a file that exists.
  bool appends = false;
};

std::vector<output_case> all_outputs() {
  return {{{"graph", "count:100", "--svg"}},
          {{"run", "count:100", "--stats"}},
          {{"run", "count:100", "--log"}, true},
          {{"run", "count:100", "--bad-sample", "mask", "--fault", "throw:7", "--bad-log"}, true}};
}

TEST_CASE("outputs: a link stays, what it leads to is written") {
  for (const auto& [command, appends] : all_outputs()) {
    CAPTURE(command);
    command_bench x;
    fs::create_directory(x.at / "far");
    fs::create_symlink("far/file", x.at / "link");
    x.succeed(command + words{x.at / "link"});
    REQUIRE(fs::is_symlink(x.at / "link"));
    const auto first = fs::file_size(x.at / "far/file");
    REQUIRE(first > 0);
    x.succeed(command + words{x.at / "link"});
    REQUIRE(fs::is_symlink(x.at / "link"));
    REQUIRE((fs::file_size(x.at / "far/file") > first + first / 2) == appends); // times differ
    REQUIRE(std::distance(fs::directory_iterator{x.at / "far"}, fs::directory_iterator{})
            <= (appends ? 2 : 1)); // there may be a log of bad samples next to a log
  }
}

TEST_CASE("outputs: a FIFO, /dev/stdout and /dev/full stay what they are") {
  for (const auto& [command, appends] : all_outputs()) {
    CAPTURE(command);
    command_bench x;
    const auto fifo = x.at / "fifo";
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    const int reader = ::open(fifo.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    REQUIRE(reader >= 0);
    x.succeed(command + words{fifo});
    REQUIRE(fs::is_fifo(fifo));
    std::array<char, 16> bytes{};
    REQUIRE(::read(reader, bytes.data(), bytes.size()) > 0);
    ::close(reader);
    const auto to_file = x.at / "file";
    x.succeed(command + words{to_file});
    const auto both = x.succeed(command + words{"/dev/stdout"});
    const auto alone = read_file(to_file);
    REQUIRE(contains(both, alone.substr(0, 20))); // after that, times and speeds may differ
    REQUIRE(both.size() > 2 * 20);
    fs::create_symlink("/dev/full", x.at / "full");
    x.says(command + words{x.at / "full"}, 1, {"No space left"});
    REQUIRE(fs::is_character_file("/dev/full"));
    REQUIRE(fs::is_symlink(x.at / "full"));
  }
}

TEST_CASE("outputs: a file that reaches its size limit is an error that names both") {
  const std::string job = "run count:1000 --global-batch 2";
  auto faulty = job + " --bad-sample mask";
  for (int i = 0; i < 20; ++i)
    faulty += " --fault throw:" + std::to_string(i);
  const struct {
    std::string command;
    /// A part of the name that the error has.
    std::string file;
    /// The exit code; 0 for a trace, which just ends there with a notice.
    int code = 1;
  } cases[] = {{"make-data DIR/data --samples 10 --shards 1", "data/"},
               {job + " --log DIR/log", "/log"},
               {job + " --stats DIR/stats --workers 32", "/stats"},
               {job + " --trace DIR/trace", "/trace", 0},
               {faulty + " --bad-log DIR/bad", "/bad"},
               {"graph count:100 --svg DIR/svg", "/svg"},
               {"run --pipeline DIR/job --snapshot-dir DIR/ck --snapshot-every 1", "/ck/"},
               {"run - --global-batch 2 --journal DIR/journal", "/journal/"},
               {"index DIR/x.tar", "/x.tar.leat-index"},
               {"order count:1000 --global-batch 2", "standard output"}};
  for (const auto& x : cases) {
    const command_bench bench;
    std::string lines;
    for (int i = 0; i < 1000; ++i)
      lines += "line " + std::to_string(i) + "\n";
    bench.write("lines", lines);
    tar_writer shard;
    for (int i = 0; i < 300; ++i)
      shard.file(std::to_string(i) + ".txt", "x");
    shard.end().save(bench.at / "x.tar");
    bench.write("job", R"(lines("DIR/lines", ranges=256).batch(256, end="mask"))");
    // In units of 512 bytes: there is room for short errors.
    bench.says(words_of(bench.filled_in(x.command)), x.code, {x.file, "1024 bytes", "ulimit -f"},
               "ulimit -f 2; exec <'" + (bench.at / "lines") + "';");
  }
}

TEST_CASE("outputs: what cannot be written is refused before the job runs") {
  command_bench x;
  for (const auto& stats : {x.at / "none/stats", x.at.path()}) {
    x.says({"run", "count:100", "--log", x.at / "log", "--stats", stats}, 1, {stats});
    REQUIRE_FALSE(fs::exists(x.at / "log"));
  }
}

TEST_CASE("outputs: an empty text for any option is refused") {
  command_bench x;
  auto lines = words_of("make-data index order graph run inspect verify bench");
  for (const auto* line : {"replay --step 0", "verify a", "graph count:100 --svg",
                           "replay count:100 --step 0 --images", "order count:100 --journal"})
    lines.emplace_back(line);
  for (const auto& option :
       words_of("--index-dir --snapshot-dir --log --bad-log --stats --journal --resize --leave-out "
                "--weights --fault --allow --pipeline --seed --shuffle --rank"))
    lines.push_back("run count:100 " + option);
  for (const auto& line : lines)
    x.says(words_of(line) + words{""}, 2, {"got ", "needed "});
}

TEST_CASE("outputs: an address in place of a path of this machine is refused") {
  command_bench x;
  for (const auto& option :
       words_of("--snapshot-dir --log --bad-log --stats --journal --state --trace"))
    x.says(words_of("run count:100 " + option + " s3://me:PLANTED@bucket/x"), 2,
           {option, "the address", "needed a path of this machine"});
  CHECK_FALSE(std::filesystem::exists(x.at / "s3:"));
  for (const auto* line : {"coordinator --state https://h/x", "replay count:100 --step 0 --images "
                                                              "s3://bucket/x"})
    x.says(words_of(line), 2, {"the address", "needed a path of this machine"});
}

TEST_CASE("inputs: anything but a log, snapshot or pipeline is refused, even if it has no end") {
  command_bench x;
  x.order({"count:100"}, 1, x.at / "order");
  x.write("empty", "");
  x.write("corpus.jsonl", R"({"text": "no log at all"})"
                          "\n");
  x.succeed({"run", "count:100", "--log", x.at / "log"});
  const struct {
    std::string line;
    int code = 1;
    std::string part = "";
  } refused[] = {{"verify DIR/order DIR/log,", 2},
                 {"verify DIR/empty DIR/log", 2},
                 {"verify DIR DIR/log", 1, "got a directory"},
                 {"verify DIR/order DIR", 1, "got a directory"},
                 {"verify /dev/zero DIR/log", 1, "got a device"},
                 {"verify DIR/order /dev/zero", 1, "got a device"},
                 {"inspect /dev/zero"},
                 {"run --pipeline /dev/zero"},
                 {"run --pipeline DIR"},
                 {"verify DIR/order DIR/corpus.jsonl"},
                 {"verify DIR/corpus.jsonl DIR/log"}};
  for (const auto& [line, code, part] : refused) {
    const auto outcome =
        x.says(words_of(x.filled_in(line)), code, {part}, sanitized ? "" : "ulimit -v 4000000;");
    CAPTURE(line, outcome.errors);
    REQUIRE(outcome.output.empty());
    REQUIRE(count_of(outcome.errors, "\n") == (code == 2 ? 2 : 1));
    REQUIRE_FALSE(contains(outcome.errors, "basic_")); // a name from the standard library
  }
  x.says({"verify", x.at / "order", x.at / "empty", x.at / "log", "--json"}, 0, {"is empty"});
  const auto alone = x.leat({"verify", x.at / "order", x.at / "empty", "--json"});
  REQUIRE(alone.code == 1);
  REQUIRE(json_lines(alone.output).at(0)["lost"] == 64);
  REQUIRE(json_lines(alone.output).at(0)["attempts"] == 1);
}

TEST_CASE("inputs: links in a class folder that lead nowhere are passed over, with a notice") {
  command_bench x;
  x.make_photos(x.at / "shards", 8, 1);
  fs::create_directories(x.at / "photos/a");
  x.succeed({"replay", x.at / "shards/*.tar", "--step", "0", "--global-batch", "4", "--images",
             x.at / "png"});
  const auto jpeg = x.at / "photos/a/1.jpg";
  std::ofstream{jpeg} << "no image, but a file";
  fs::create_symlink("circle.jpg", x.at / "photos/a/circle.jpg");
  fs::create_symlink("nowhere", x.at / "photos/a/gone.jpg");
  fs::create_symlink("1.jpg", x.at / "photos/a/2.jpg");
  fs::create_symlink("round", x.at / "photos/round");
  const auto indexed =
      x.says({"order", x.at / "photos", "--global-batch", "1", "--index-dir", x.at / "index"}, 0,
             {"passed over 3 links that lead nowhere"});
  REQUIRE(json_lines(indexed.output).size() == 2);
}

TEST_CASE("inputs: what is passed over is said once, and counted by leat index") {
  command_bench x;
  tar_writer tar;
  tar.file("a.txt", "1").file("b.txt", "", '1').file("__MACOSX/a.txt", "x").file("c.txt", "2");
  tar.file("d.txt", "", '1').end();
  tar.save(x.at / "x.tar");
  tar_writer{}.file("e.txt", "3").end().file("f.txt", "4").end().save(x.at / "y.tar");
  fs::create_symlink("nowhere", x.at / "z.tar");
  const auto json = x.ask({"index", x.at / "?.tar"});
  REQUIRE(json["records"] == 3);
  REQUIRE(json["passed_over"]
          == nlohmann::json::parse(R"([
    {"why": "hidden", "count": 1, "first": "x.tar: __MACOSX/a.txt"},
    {"why": "hard_link", "count": 2, "first": "x.tar: b.txt"},
    {"why": "rest", "count": 1, "first": "y.tar: 2048 bytes from byte 2048 on"},
    {"why": "lost_link", "count": 1, "first": ")"
                                   + (x.at / "z.tar") + "\"}]"));
  const auto told = x.leat({"index", x.at / "?.tar"});
  REQUIRE(contains(told.output, "passed over 2 hard links: x.tar: b.txt, ...\n"));
  REQUIRE(contains(told.output, "passed over 1 hidden entry: x.tar: __MACOSX/a.txt\n"));
  for (const auto* command : {"index", "order --global-batch 1", "run --global-batch 1"}) {
    const auto ran = x.says(words_of(command) + words{x.at / "?.tar"}, 0,
                            {"passed over 2 hard links (x.tar: b.txt, ...), "});
    REQUIRE(count_of(ran.errors, "passed over") == 1);
  }
  REQUIRE(x.ask({"index", "count:5"})["passed_over"].empty());
}

TEST_CASE("inputs: a tar file without an end mark is torn, unless that is allowed") {
  command_bench x;
  tar_writer{}.file("a.txt", "1").file("b.txt", "2").save(x.at / "x.tar");
  tar_writer{}.save(x.at / "empty.tar");
  std::ofstream{x.at / "x.tar.gz", std::ios::binary}
      << gzip(tar_writer{}.file("a.txt", "1").bytes());
  for (const auto* name : {"x.tar", "empty.tar", "x.tar.gz"})
    for (const auto* command : {"order --global-batch 1", "run --global-batch 1"})
      x.says(words_of(command) + words{x.at / name}, 1, {"end mark", name});
  const auto allowed = x.says(words{"order", x.at / "x.tar"}
                                  + words_of("--global-batch 1 --shuffle none --allow-torn"),
                              0, {"end mark"});
  REQUIRE(json_lines(allowed.output).size() == 2);
}

} // namespace
} // namespace leat::test::outputs_test
