#include "tests/support/command.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/tar_writer.hpp"

// Samples that cannot be delivered are named under fail, and counted and listed under mask and
// substitute, in the same way whoever reads them and however often the job is broken off.
namespace leat::test::bad_samples_test {
namespace {

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The file with `bytes` of the frame header replaced, from `offset` after its marker.
std::string patched_frame(std::size_t offset, const std::string& bytes) {
  auto file = write_jpeg(64, 48);
  const auto frame = find_marker(file, 0xC0);
  return text_of(file).replace(frame + offset, bytes.size(), bytes);
}

struct bad_kind {
  const char* key;
  const char* cause;
};
const std::vector<bad_kind> bad_kinds{{"cut", "truncated"},       {"header", "corrupt"},
                                      {"garbage", "corrupt"},     {"nothing", "empty"},
                                      {"nojpg", "missing_field"}, {"nocls", "missing_field"},
                                      {"twelve", "unsupported"},  {"huge", "too_large"}};

/// The members of a sample with key `name`.
void add_sample(tar_writer& to, const std::string& name, std::uint32_t number) {
  const auto kind = name.substr(0, name.find('-'));
  auto image = text_of(write_jpeg(64, 48, {}, number));
  if (kind == "cut")
    image.resize(image.size() / 2);
  if (kind == "header")
    image = patched_frame(2, std::string(2, '\0')); // a segment too short for a frame header
  if (kind == "garbage")
    image.assign(3000, '\x5a');
  if (kind == "nothing")
    image.clear();
  if (kind == "twelve")
    image = patched_frame(4, "\x0c");
  if (kind == "huge")
    image = patched_frame(5, "\xff\xf0\xff\xf0");
  if (kind == "cmyk")
    image = text_of(write_jpeg(64, 48, {.components = 4}, number));
  if (kind != "nojpg")
    to.file(name + ".jpg", image);
  if (kind != "nocls")
    to.file(name + ".cls", std::to_string(number % 10));
  if (kind == "nojpg")
    to.file(name + ".txt", "no image");
}

/// Three shards of 24 samples, each with one of every bad kind and a CMYK photo.
class bad_bench : public command_bench {
public:
  bad_bench() {
    std::uint32_t number = 0;
    for (int shard = 0; shard < 3; ++shard) {
      tar_writer tar;
      for (int i = 0; i < 15; ++i)
        add_sample(tar, "good-" + std::to_string(number), number), ++number;
      for (const auto& kind : bad_kinds)
        add_sample(tar, kind.key + ("-" + std::to_string(number)), number), ++number;
      add_sample(tar, "cmyk-" + std::to_string(number), number), ++number;
      tar.end().save(at / ("s" + std::to_string(shard) + ".tar"));
    }
  }
  const words job{at / "s?.tar", "--global-batch", "12", "--seed", "9"};
};
/// Cause of the id's sample; empty if the sample is good.
std::string cause_of(const std::string& id) {
  for (const auto& kind : bad_kinds)
    if (contains(id, std::string{"/"} + kind.key + "-"))
      return kind.cause;
  return "";
}

json expected_counts(int times) {
  std::map<std::string, int> counts;
  for (const auto& kind : bad_kinds)
    counts[kind.cause] += times;
  return counts;
}

/// The list of bad rows, in the order of epoch, step and position.
std::vector<json> side_log(const std::string& file) {
  auto lines = json_lines(read_file(file));
  for (auto& x : lines) {
    REQUIRE_FALSE(x.at("text").get<std::string>().empty());
    x.erase("rank");
  }
  std::sort(lines.begin(), lines.end(), [](const json& a, const json& b) {
    return std::tuple{a["epoch"].get<int>(), a["step"].get<int>(), a["position"].get<int>()}
           < std::tuple{b["epoch"].get<int>(), b["step"].get<int>(), b["position"].get<int>()};
  });
  return lines;
}

/// What the logs of attempts list as bad, without batches that were handed over again.
std::vector<json> bad_rows(const std::vector<logged_batch>& batches) {
  std::map<std::pair<std::uint64_t, std::uint64_t>, json> rows;
  for (const auto& batch : batches)
    for (const auto& x : batch.bad)
      rows.insert_or_assign({batch.epoch, x.at(0)}, x);
  std::vector<json> result;
  for (const auto& [key, row] : rows)
    result.push_back(row);
  return result;
}

void check_policy(const std::string& policy) {
  bad_bench x;
  const auto due = x.order(x.job, 2, x.at / "order");
  REQUIRE(due.size() == 12);
  const auto run = words{"run"} + x.job + words{"--bad-sample", policy, "--epochs", "2"};

  auto summary = x.ask(run + words{"--workers", "2", "--log", x.at / "reference"});
  REQUIRE(summary["bad"] == expected_counts(6));
  const auto reference = batches_of(x.at / "reference");
  const auto table = table_of(reference);
  REQUIRE(table.size() == 12);
  const auto listed = bad_rows(reference);
  REQUIRE(listed.size() == 48);

  SECTION("every row is what the order says, or listed with its cause and what came instead") {
    for (const auto& batch : reference) {
      std::map<std::uint64_t, json> bad;
      for (const auto& row : batch.bad)
        bad[row.at(0)] = row;
      std::map<std::uint64_t, std::string> got;
      for (const auto& row : batch.rows)
        got[row.position] = row.id;
      for (const auto& row : due.at({batch.epoch, batch.step})) {
        CAPTURE(row.id);
        const auto cause = cause_of(row.id);
        REQUIRE(bad.contains(row.position) == !cause.empty());
        if (cause.empty()) {
          REQUIRE(got.at(row.position) == row.id);
          continue;
        }
        REQUIRE(bad[row.position][1] == row.id);
        REQUIRE(bad[row.position][2] == cause);
        if (policy == "mask") {
          REQUIRE(bad[row.position][3].is_null());
          REQUIRE_FALSE(got.contains(row.position));
        } else {
          REQUIRE(bad[row.position][3] == got.at(row.position));
          REQUIRE(cause_of(got.at(row.position)).empty());
        }
      }
    }
    REQUIRE(x.verify_good({x.at / "order", x.at / "reference"})["bad"] == 48);
  }

  SECTION("other shapes, kills of the step and resumes give the same rows, lists and counts") {
    const auto side = side_log(x.at / "reference.bad");
    REQUIRE(side.size() == 48);
    words logs;
    std::vector<logged_batch> batches;
    const auto resuming =
        run + words{"--snapshot-dir", x.at / "snapshots", "--resume", "--bad-log", x.at / "side"};
    for (const std::string shape :
         {"--steps 1 --world-size 2 --workers 0", "--steps 5 --world-size 1 --workers 3",
          "--steps 6 --world-size 3 --workers 1", "--steps 7 --world-size 4 --workers 2",
          "--steps 11 --world-size 2 --workers 8", "--steps 12 --world-size 5 --workers 2"}) {
      logs.push_back(x.at / ("log-" + std::to_string(logs.size())));
      x.succeed(resuming + words_of(shape) + words{"--log", logs.back()});
      for (auto& batch : batches_of(logs.back()))
        batches.push_back(std::move(batch));
    }
    REQUIRE(table_of(batches) == table);
    REQUIRE(bad_rows(batches) == listed);
    REQUIRE(side_log(x.at / "side") == side);
    REQUIRE(x.ask({"inspect", x.at / "snapshots"})["bad"] == expected_counts(6));
    REQUIRE(x.verify(words{x.at / "order"} + logs)["bad"] == 48);

    // Resumes from an older state again: what it lists again must not occur twice.
    for (const auto& file : std::filesystem::directory_iterator{x.at / "snapshots"})
      if (!contains(file.path().string(), "epoch-1-step-1."))
        std::filesystem::remove(file.path());
    x.ask(resuming + words{"--world-size", "3", "--log", x.at / "again"});
    REQUIRE(side_log(x.at / "side") == side);
    REQUIRE(x.ask({"inspect", x.at / "snapshots"})["bad"] == expected_counts(6));
    REQUIRE(x.verify(words{x.at / "order"} + logs + words{x.at / "again"})["bad"] == 48);

    // If no set is complete, everything comes again.
    std::filesystem::remove_all(x.at / "snapshots");
    x.succeed(resuming + words{"--workers", "2"});
    REQUIRE(side_log(x.at / "side") == side);
  }
}

TEST_CASE("bad samples: mask") {
  check_policy("mask");
}
TEST_CASE("bad samples: substitute") {
  check_policy("substitute");
}

TEST_CASE("bad samples: fail names stage and sample, in every shape") {
  bad_bench x;
  const auto due = x.order(x.job, 1, x.at / "order");
  std::set<std::string> first_bad;
  for (const auto& row : due.at({0, 0}))
    if (!cause_of(row.id).empty())
      first_bad.insert(row.id);
  REQUIRE_FALSE(first_bad.empty());
  for (const auto* workers : {"0", "1", "4"}) {
    const auto failed = x.says(
        words{"run"} + x.job
            + words{"--workers", workers, "--log", x.at / "log", "--snapshot-dir", x.at / workers},
        1);
    CAPTURE(failed.errors);
    REQUIRE(failed.output.empty());
    REQUIRE(std::any_of(first_bad.begin(), first_bad.end(),
                        [&](const auto& id) { return contains(failed.errors, id); }));
    REQUIRE((contains(failed.errors, "image") || contains(failed.errors, "label")));
    REQUIRE(batches_of(x.at / "log").empty());
  }
}

TEST_CASE("bad samples: a function that throws at a position") {
  command_bench x;
  const words job{"count:400", "--global-batch", "20"};
  x.order(job, 1, x.at / "order");
  const auto fault = words{"run"} + job + words{"--fault", "throw:137"};
  x.says(fault, 1, {"count/"});
  for (const auto* workers : {"0", "3"})
    for (const auto* policy : {"mask", "substitute"}) {
      const auto log = x.at / (std::string{workers} + policy);
      auto summary =
          x.ask(fault + words{"--bad-sample", policy, "--workers", workers, "--log", log});
      check_members(summary, {{"bad", json{{"function_error", 1}}},
                              {"samples", (policy == std::string{"mask"} ? 399 : 400)}});
      REQUIRE(x.verify({x.at / "order", log})["bad"] == 1);
      auto bad = bad_rows(batches_of(log));
      REQUIRE(bad.size() == 1);
      REQUIRE(bad[0][0] == 137);
    }
}

TEST_CASE("bad samples: what operators look at is due under mask, and judged by its order") {
  command_bench x;
  std::ofstream lines{x.at / "x.jsonl"};
  for (int i = 0; i < 60; ++i)
    lines << (i % 7 == 3 ? "{\"text\": no text" : R"({"text": "line )" + std::to_string(i) + "\"}")
          << '\n';
  lines.close();
  const auto job = x.pipeline(R"(json_lines("DIR/x.jsonl", ranges=4)
      .filter("bytes_between@1", field="text", max=6)
      .shuffle_buffer(8).batch(8, lanes=4, end="mask"))");
  const words mask{"--bad-sample", "mask"};
  x.says(words{"order"} + job, 1);
  const auto due = x.order(job + mask, 1, x.at / "order");
  for (const auto* workers : {"0", "2"}) {
    const auto log = x.at / (std::string{"log"} + workers);
    const auto summary =
        x.ask(words{"run"} + job + mask + words{"--workers", workers, "--log", log});
    REQUIRE(summary["bad"] == json{{"corrupt", 9}});
    const auto report = x.verify({x.at / "order", log});
    check_members(report, {{"bad", 9}, {"steps", due.size()}});
  }
}

TEST_CASE("bad samples: a torn shard is refused where it is torn, or used up to there") {
  command_bench x;
  tar_writer tar;
  for (std::uint32_t i = 0; i < 30; ++i)
    add_sample(tar, "good-" + std::to_string(i), i);
  tar.end();
  auto bytes = tar.bytes();
  const auto torn = bytes.find("good-20.jpg") + tar_writer::block; // the member's content
  bytes.resize(torn + 100);
  tar_writer::write(x.at / "torn.tar", bytes);
  const words job{x.at / "torn.tar", "--global-batch", "5"};
  for (const std::string verb : {"index", "run", "order"})
    x.says(words{verb} + (verb == "index" ? words{job[0]} : job), 1,
           {"torn.tar", "offset " + std::to_string(torn)});
  const auto allowed = job + words{"--allow-torn"};
  const auto due = x.order(allowed, 1, x.at / "order");
  REQUIRE(due.size() == 4);
  x.succeed(words{"run"} + allowed + words{"--log", x.at / "log"});
  REQUIRE(check_sequence(batches_of(x.at / "log"), due, {0, 0}, 1) == due.end());
  std::set<std::string> ids;
  for (const auto& [key, rows] : due)
    for (const auto& row : rows)
      ids.insert(row.id);
  std::set<std::string> whole;
  for (int i = 0; i < 20; ++i)
    whole.insert("torn.tar/good-" + std::to_string(i));
  REQUIRE(ids == whole);
}

} // namespace
} // namespace leat::test::bad_samples_test
