#include "tests/support/command.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/tar_writer.hpp"

// What `leat replay` shows of a step is what a job with the same options handed over there, also if
// an operator meets a bad sample or the job changed weights.
namespace leat::test::replay_test {
namespace {

/// A shard of photos with labels; every seventh lacks its label, but for the first.
std::string shard(std::uint32_t photos, std::uint32_t first_seed) {
  tar_writer tar;
  for (std::uint32_t i = 0; i < photos; ++i) {
    const auto key = std::to_string(100 + i);
    const auto photo = write_jpeg(64, 48, {}, first_seed + i);
    tar.file(key + ".jpg", {reinterpret_cast<const char*>(photo.data()), photo.size()});
    if (i % 7 != 3)
      tar.file(key + ".cls", std::to_string(i % 10));
  }
  return tar.end().bytes();
}

class replay_bench : public command_bench {
public:
  explicit replay_bench(const std::string& text) {
    tar_writer::write(at / "a.tar", shard(24, 1));
    tar_writer::write(at / "b.tar", shard(24, 100));
    pipeline(text);
  }

  /// Checks each of the job's steps in the log, with and without images.
  void check_steps(const words& options, const words& length) {
    const words job{"--pipeline", at / "job.leat"};
    succeed(words{"run"} + job + options + length + words{"--workers", "2", "--log", at / "log"});
    const auto batches = batches_of(at / "log");
    REQUIRE(batches.size() > 4);
    for (const auto& batch : batches) {
      CAPTURE(batch.step);
      const auto images = at / ("images-" + std::to_string(batch.step));
      const auto replay =
          words{"replay"} + job + options + words{"--step", std::to_string(batch.step)};
      const auto shown = ask(replay + words{"--images", images});
      REQUIRE(rows_of(logged_batch{shown}) == rows_of(batch));
      REQUIRE(shown.at("images").size() == batch.rows.size());
      for (const auto& row : batch.rows)
        REQUIRE(std::filesystem::exists(images + "/" + std::to_string(row.position) + ".png"));
      // Without images only the order is known, so masked rows are among the rows.
      const auto due = rows_of(logged_batch{ask(replay)});
      for (const auto& row : rows_of(batch))
        REQUIRE(std::find(due.begin(), due.end(), row) != due.end());
      bad_rows += batch.bad.size();
    }
  }

  using row = std::pair<std::uint64_t, std::string>;
  static std::vector<row> rows_of(const logged_batch& x) {
    std::vector<row> rows;
    for (const auto& y : x.rows)
      rows.emplace_back(y.position, y.id);
    return rows;
  }

  std::size_t bad_rows = 0;
};

constexpr auto decoded = R"(.map("decode_image@1", field="jpg", )"
                         R"(transforms=["resize:32", "center_crop:32:32", "to_layout:nhwc"]))";

TEST_CASE("replay: a bad sample that an operator looks at is masked where the job masks it") {
  replay_bench x{R"(tar_stream("DIR/?.tar").filter("field_between@1", field="cls", min=2))"
                 R"(.shuffle_buffer(8, seed=4))"
                 + std::string{decoded} + R"(.batch(6, lanes=1, end="mask"))"};
  x.check_steps({"--bad-sample", "mask"}, {});
  CHECK(x.bad_rows == 6);
  x.says({"replay", "--pipeline", x.at / "job.leat", "--step", "2"}, 1, {"a.tar/103"});
}

TEST_CASE("replay: a step of a job that changed weights has the samples of that job") {
  replay_bench x{R"(mix(tar_stream("DIR/a.tar"), tar_stream("DIR/b.tar"), weights=[1, 1]))"
                 R"(.map("drop_fields@1", fields=["cls"]))"
                 + std::string{decoded} + R"(.batch(6, lanes=1, end="cycle"))"};
  const words changes{"--weights", "2:1,9", "--weights", "4:5,1"};
  x.check_steps(changes, {"--steps", "7"});
  const words replay{"replay", "--pipeline", x.at / "job.leat", "--step", "3"};
  CHECK(x.ask(replay).at("ids") != x.ask(replay + changes).at("ids"));
}

/// Tokens of bytes, "ab", and an end.
std::string small_tokenizer() {
  return R"({"added_tokens": [{"id": 4, "content": "<end>", "special": true, "normalized": false}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}},
      {"SpecialToken": {"id": "<end>"}}], "special_tokens": {"<end>": {"ids": [4]}}},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120": 3}, "merges": ["a b"]}})";
}

TEST_CASE("replay: what the tokens of a step say") {
  command_bench x;
  x.write("a.txt", "ab a\nb b\nba\n");
  x.write("my t,.json", small_tokenizer());
  const auto path = "tokenizer=\"" + x.at / "my%20t%2C.json" + "\"";
  const auto job = R"(lines("DIR/a.txt").map("tokenize@1", )" + path + ", add_special_tokens=true)";
  using texts = std::vector<std::string>;
  const auto shown = [&](const std::string& after, const words& more) {
    x.pipeline(job + after);
    return x.ask(words{"replay", "--pipeline", x.at / "job.leat", "--step", "0"} + more)["texts"];
  };
  CHECK(shown(".batch(3)", {"--text"}) == texts{"ab a<end>", "b b<end>", "ba<end>"});
  CHECK(shown(R"(.pack("tokens", 6, split=true).batch(2, lanes=1))", {"--text"})
        == texts{"ab a<end>b ", "b<end>ba<end>a"}); // the last one is padding
  const words step{"replay", "--pipeline", x.at / "job.leat", "--step", "0", "--text"};
  CHECK(contains(x.succeed(step), "\"ab a<end>b \""));
  x.pipeline(R"(lines("DIR/a.txt").batch(1))");
  x.says(step, 2, {"a job without tokens"});
}

} // namespace
} // namespace leat::test::replay_test
