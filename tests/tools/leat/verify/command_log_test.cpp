#include "tests/support/json_members.hpp"
#include "tests/support/other_program.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/standard.hpp"
#include "tests/support/temporary_directory.hpp"

#include "tools/leat/run_log.hpp"
#include "tools/leat/verify/log_line.hpp"

namespace leat::command_log_test {

using namespace leat::command;

namespace {

batch_line some_batch(std::uint64_t step) {
  return {.epoch = 3,
          .step = step,
          .rank = 1,
          .world_size = 2,
          .positions = {5, 7},
          .ids = {"a.tar/1", "b \"quoted\"\n\u00e9"},
          .digest = {step, 99},
          .pixels = {{1, 2}, {3, 4}},
          .bad = {{7, "c.tar/9", "truncated", "b \"quoted\"\n\u00e9"}, {9, "d", "empty", {}}}};
}

} // namespace

TEST_CASE("log line: a batch reads back as it was written") {
  auto line = some_batch(4);
  REQUIRE(std::get<batch_line>(parse_log_line(to_json(line))) == line);
}

TEST_CASE("log line: a header has no step, and reads back as it was written") {
  attempt_start start{.world_size = 3,
                      .rank = 2,
                      .resumed_at = {{1, 8}},
                      .continues = true,
                      .term = 7,
                      .records = 12,
                      .data_digest = {5, 6}};
  REQUIRE(std::get<attempt_start>(parse_log_line(to_json(start))) == start);
  attempt_start fresh;
  REQUIRE(std::get<attempt_start>(parse_log_line(to_json(fresh))) == fresh);
  REQUIRE_FALSE(nlohmann::json::parse(to_json(start)).contains("step"));
}

TEST_CASE("log line: a rank's batch has all members that scripts rely on") {
  auto line = some_batch(4);
  line.bad.clear();
  auto x = nlohmann::json::parse(to_json(line));
  REQUIRE(x.size() == 8);
  test::check_members(x, {{"epoch", 3},
                          {"step", 4},
                          {"rank", 1},
                          {"world_size", 2},
                          {"positions", nlohmann::json({5, 7})}});
  REQUIRE(x["ids"][0] == "a.tar/1");
  REQUIRE(x["digest"] == "00000000000000630000000000000004");
  REQUIRE(x["pixels"][1] == "00000000000000040000000000000003");
}

TEST_CASE("log line: bad rows are lists of position, id, cause and substitute or null") {
  auto x = nlohmann::json::parse(to_json(some_batch(0)))["bad"];
  REQUIRE(x[0][0] == 7);
  REQUIRE(x[0][2] == "truncated");
  REQUIRE(x[1] == nlohmann::json({9, "d", "empty", nullptr}));
}

TEST_CASE("log line: a whole global batch has neither rank nor pixels") {
  auto line = some_batch(0);
  line.rank.reset();
  line.world_size = 1;
  auto x = nlohmann::json::parse(to_json(line));
  REQUIRE_FALSE(x.contains("rank"));
  REQUIRE_FALSE(x.contains("pixels"));
}

TEST_CASE("log line: an empty batch is valid JSON") {
  batch_line line{.rank = 0};
  REQUIRE(std::get<batch_line>(parse_log_line(to_json(line))) == line);
}

TEST_CASE("log line: other objects, lists of different lengths, a foreign rank and bad hashes are "
          "refused") {
  auto shorter = some_batch(0);
  shorter.ids.pop_back();
  auto fewer = some_batch(0);
  fewer.pixels.pop_back();
  auto foreign = some_batch(0);
  foreign.rank = 2;
  auto hash = nlohmann::json::parse(to_json(some_batch(0)));
  hash["digest"] = "12";
  for (const auto& line :
       {to_json(shorter), to_json(fewer), to_json(foreign), hash.dump(), std::string{"{}"},
        std::string{R"({"text": "a line of some corpus"})"}, std::string{R"({"leat": 7})"}}) {
    CAPTURE(line);
    REQUIRE_THROWS_AS(parse_log_line(line), std::runtime_error);
  }
}

TEST_CASE("run log: a log reads back line by line") {
  test::temporary_directory at;
  log_writer writer{at / "log"};
  writer.append(to_json(attempt_start{}));
  writer.append(to_json(some_batch(1)));
  log_reader reader{at / "log"};
  REQUIRE(std::get<attempt_start>(reader.next().value()) == attempt_start{});
  REQUIRE(std::get<batch_line>(reader.next().value()) == some_batch(1));
  REQUIRE_FALSE(reader.next());
}

TEST_CASE("run log: a torn last line is removed on opening, at every length of the tear") {
  test::temporary_directory at;
  auto whole = to_json(some_batch(1)) + "\n";
  auto torn = to_json(some_batch(2));
  // Lines longer than the blocks that are searched for the tear.
  auto filler = std::string(9000, ' ');
  for (std::size_t length : {std::size_t{0}, std::size_t{1}, torn.size() / 2, torn.size()})
    for (const auto& pad : {std::string{}, filler}) {
      CAPTURE(length, pad.size());
      std::ofstream{at / "log", std::ios::trunc} << whole << pad.substr(0, length * 9000)
                                                 << torn.substr(0, length);
      log_writer{at / "log"}.append("{}");
      REQUIRE(read_file(at / "log") == whole + "{}\n");
    }
}

TEST_CASE("run log: a file that is one torn line becomes empty") {
  test::temporary_directory at;
  std::ofstream{at / "log"} << std::string(10'000, 'x');
  log_writer{at / "log"};
  REQUIRE(read_file(at / "log").empty());
}

TEST_CASE("run log: the reader passes over a torn last line") {
  test::temporary_directory at;
  std::ofstream{at / "log"} << to_json(some_batch(1)) << "\n" << to_json(some_batch(2));
  log_reader reader{at / "log"};
  REQUIRE(reader.next());
  REQUIRE_FALSE(reader.next());
}

TEST_CASE("run log: damage in the middle is an error that names file and line") {
  test::temporary_directory at;
  std::ofstream{at / "log"} << to_json(some_batch(1)) << "\n{\"ep\n"
                            << to_json(some_batch(2)) << "\n";
  log_reader reader{at / "log"};
  REQUIRE(reader.next());
  const auto problem = check_refusal([&] { reader.next(); }, errc::torn_file, {"line 2"});
  REQUIRE(problem.details().file == at / "log");
}

TEST_CASE("run log: a directory that is not there is an input/output error") {
  test::temporary_directory at;
  REQUIRE_THROWS_AS(log_writer{at / "missing/log"}, error);
  REQUIRE_THROWS_AS(log_reader{at / "missing"}, error);
}

} // namespace leat::command_log_test
