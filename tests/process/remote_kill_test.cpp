// Kills jobs over servers that fail at random, and resumes them over another server or over files.
// What they hand over must be what an uninterrupted run over files does.

#include "tests/support/fault_server.hpp"
#include "tests/support/files.hpp"
#include "tests/support/kill_drill.hpp"
#include "tests/support/packing.hpp"
#include "tests/support/s3_service.hpp"
#include "tests/support/tar_writer.hpp"

namespace leat::test::remote_kill_test {
namespace {

using std::chrono::milliseconds;

/// One request in twelve fails. An answer that contradicts itself is given once for each place of
/// each file: after three of them a job ends, as it should.
class failing_sometimes {
public:
  explicit failing_sometimes(std::uint64_t seed)
      : draw_(
          random_faults(seed, 12,
                        {fault::cut, fault::cut_without_length, fault::busy, fault::too_many,
                         fault::reset, fault::shortened, fault::shifted, fault::ignores_range})) {}

  fault operator()(const fault_server::request& x) const {
    const auto drawn = draw_(x);
    const bool contradicts =
        drawn == fault::shortened || drawn == fault::shifted || drawn == fault::ignores_range;
    const std::lock_guard lock{told_->mutex};
    return contradicts && !told_->places.insert({x.path, x.begin}).second ? fault::none : drawn;
  }

private:
  struct told_places {
    std::mutex mutex = {};
    std::set<std::pair<std::string, std::uint64_t>> places = {};
  };

  fault_server::choice draw_;
  std::shared_ptr<told_places> told_ = std::make_shared<told_places>();
};

/// A bucket "b" that anybody may read, whose files are also in a folder and on a web server.
struct served_data {
  explicit served_data(unsigned seed) : server{at.path(), failing_sometimes{seed}} {
    ::setenv("no_proxy", "127.0.0.1", 1); // for the commands
    std::filesystem::create_directory(at / "b");
    server.service = s3_service{.folder = at.path(), .open_buckets = {"b"}};
  }

  /// Options of a job with this text, in which PLACE stands for the folder.
  words over(const std::string& place, std::string text) const {
    constexpr std::string_view mark = "PLACE";
    for (auto x = text.find(mark); x != std::string::npos; x = text.find(mark))
      text.replace(x, mark.size(), place);
    const auto file = at / ("job-" + std::to_string(std::hash<std::string>{}(text)));
    write_content(file, text);
    return {"--pipeline", file, "--endpoint", server.address(), "--anonymous"};
  }
  drilled_job job(const std::string& text, const std::string& step_time) const {
    return {.options = over(at / "b", text),
            .run_options = {"--step-time", step_time},
            .epochs = 2,
            .elsewhere = {over(server.url("b"), text), over("s3://b", text), over("s3://b", text)}};
  }

  temporary_directory at;
  fault_server server;
};

void kill_often(kill_drill& x, const served_data& data) {
  for (int i = 0; i < 10; ++i)
    x.attempt(x.one_of({1, 2, 3, 6}), x.one_of({0, 1, 2, 3}), i % 5 == 4, x.between(60, 400));
  x.attempt(2, 2, false, milliseconds{0});
  x.check();
  CHECK(data.server.faults() > 2);
}

TEST_CASE("kill: photographs of servers that fail at random, and of a disk in turns") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  const served_data data{seed};
  const command_bench photos;
  photos.make_photos(data.at / "b", 240, 6);
  kill_drill x{data.job("tar_shards(\"PLACE/train-{000000..000005}.tar\", index_dir=\""
                            + data.at.path() + "/index\").shuffle(seed=3).batch(24, lanes=12)\n",
                        "20"),
               seed};
  kill_often(x, data);
}

TEST_CASE("kill: streams of servers that fail at random, and of a disk in turns") {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  const served_data data{seed};
  std::mt19937 random{seed};
  std::string list;
  for (int file = 0; file < 12; ++file) {
    tar_writer tar;
    std::string lines;
    for (int i = 0; i < 100; ++i) {
      tar.file(std::to_string(i) + ".txt", std::string(random() % 3000, 'x'));
      lines += json{{"n", i}, {"txt", std::string(random() % 200, 'y')}}.dump() + "\n";
    }
    write_content(data.at / ("b/" + std::to_string(file) + ".tar.gz"), gzip(tar.end().bytes()));
    write_content(data.at / ("b/" + std::to_string(file) + ".jsonl"), lines);
    list += std::to_string(file) + ".tar.gz\n";
  }
  write_content(data.at / "b/list", list);
  kill_drill x{data.job(R"(
shards = tar_stream("PLACE/{0..11}.tar.gz").shuffle_buffer(30, seed=1)
texts = json_lines("PLACE/{0..11}.jsonl", ranges=2).map("select@1", fields=["txt"]).shuffle_buffer(50, seed=2)
named = lines("PLACE/list", ranges=12).read_files("tar", folder="PLACE")
mix(shards, texts, named, weights=[1, 2, 1]).batch(24, lanes=12, end="mask")
)",
                        "5"),
               seed};
  kill_often(x, data);
}

} // namespace
} // namespace leat::test::remote_kill_test
