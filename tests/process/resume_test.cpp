#include "tests/support/command.hpp"
#include "tests/support/places.hpp"

// A job that is broken off and resumed hands over what an unbroken one does, from exactly the step
// that its snapshot names; a job that cannot be resumed reports why and does no harm.
namespace leat::test::resume_test {
namespace {

/// 25 steps of 40 rows in each of two epochs.
const words job = words_of("count:1010:12 --seed 3 --global-batch 40 --lanes 8");
constexpr std::uint64_t steps_per_epoch = 25;

class resume_bench : public command_bench {
public:
  resume_bench() : due(order(job, 2, at / "order")) { REQUIRE(due.size() == 50); }

  words run(std::uint64_t workers, std::uint64_t world_size, const words& more) const {
    return words{"run"} + job + words{"--workers", std::to_string(workers)}
           + words{"--world-size", std::to_string(world_size), "--epochs", "2"}
           + words{"--snapshot-dir", directory} + more;
  }
  /// The step that `inspect` names as the next one; the beginning if there is no set.
  step_key next_step() const { return command_bench::next_step(directory); }

  /// Digest of everything that was handed over so far.
  std::string digest() const { return ask({"inspect", directory})["digest"]; }

  /// Digest of the order's rows before `end`.
  std::string digest_before(step_key end) const {
    hash_sum sum;
    for (auto at_step = due.begin(); at_step != due.lower_bound(end); ++at_step)
      for (const auto& row : at_step->second)
        sum.add(little_endian(at_step->first.first) + little_endian(row.position) + row.id);
    return sum.text();
  }

  /// Runs to the end and checks that the log's last attempt has everything that was due from
  /// `first` on.
  void finish_from(step_key first, std::uint64_t workers, std::uint64_t world_size) {
    const auto log = at / "finish.log";
    std::filesystem::remove(log);
    auto summary = ask(run(workers, world_size, {"--resume", "--log", log}));
    auto attempt = attempts_of(log).at(0);
    REQUIRE(check_sequence(attempt.batches, due, first, world_size) == due.end());
    REQUIRE(next_step() == step_key{2, 0});
    REQUIRE(digest() == digest_before({2, 0}));
    REQUIRE(summary["global_step"] == 50);
  }

  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& x : std::filesystem::directory_iterator{directory})
      names.push_back(x.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
  }

  std::string directory = at / "snapshots";
  batch_table due;
};

step_key step_of(std::uint64_t global_step) {
  return {global_step / steps_per_epoch, global_step % steps_per_epoch};
}

TEST_CASE("resume: ten breaks, each in a new process of another shape") {
  resume_bench x;
  const std::uint64_t ends[] = {1, 2, 9, 10, 24, 25, 26, 40, 49, 50};
  const std::uint64_t worlds[] = {1, 8, 3, 2, 5, 4, 1, 7, 2, 3};
  const std::uint64_t workers[] = {1, 2, 0, 8, 3, 1, 64, 2, 0, 1};
  words logs;
  for (int i = 0; i < 10; ++i) {
    CAPTURE(i);
    const auto first = x.next_step();
    REQUIRE(first == step_of(i == 0 ? 0 : ends[i - 1]));
    logs.push_back(x.at / ("log-" + std::to_string(i)));
    x.succeed(x.run(workers[i], worlds[i],
                    {"--resume", "--steps", std::to_string(ends[i]), "--log", logs.back()}));
    auto attempt = attempts_of(logs.back()).at(0);
    REQUIRE(attempt.header["world_size"] == worlds[i]);
    auto end = check_sequence(attempt.batches, x.due, first, worlds[i]);
    REQUIRE((end == x.due.end() ? step_key{2, 0} : end->first) == step_of(ends[i]));
    REQUIRE(x.digest() == x.digest_before(step_of(ends[i])));
  }
  auto verdict = x.verify(words{x.at / "order"} + logs);
  check_members(verdict, {{"steps", 50}, {"rows", 2000}, {"attempts", 10}, {"digest", x.digest()}});
}

TEST_CASE("resume: from a state of the first batch, of an epoch's end, and taken twice") {
  for (std::uint64_t steps : {1, 24, 25, 26, 49}) {
    CAPTURE(steps);
    resume_bench x;
    const auto end = std::to_string(steps);
    x.succeed(x.run(2, 2, {"--steps", end, "--snapshot-every", end}));
    REQUIRE(x.next_step() == step_of(steps));
    // Restores without a step, in another shape, and saves there again.
    for (std::uint64_t world_size : {3, 1}) {
      auto summary = x.ask(x.run(1, world_size, {"--resume", "--steps", end}));
      check_members(
          summary,
          {{"samples", 0}, {"global_step", steps}, {"digest", x.digest_before(step_of(steps))}});
      REQUIRE(x.next_step() == step_of(steps));
      REQUIRE(x.digest() == x.digest_before(step_of(steps)));
    }
    x.finish_from(step_of(steps), 3, 4);
  }
}

TEST_CASE("resume: a finished job hands over nothing, and more epochs continue it") {
  resume_bench x;
  x.finish_from({0, 0}, 2, 2); // no set yet: from the beginning
  const auto log = x.at / "again.log";
  const auto files = x.files();
  auto summary = x.ask(x.run(3, 1, {"--resume", "--log", log}));
  check_members(summary, {{"samples", 0}, {"digest", x.digest_before({2, 0})}});
  REQUIRE(attempts_of(log).size() == 1);
  REQUIRE(batches_of(log).empty());
  REQUIRE(x.files() == files);
  // --steps counts from epoch 0: these are over already.
  REQUIRE(x.ask(x.run(3, 1, {"--resume", "--steps", "7"}))["samples"] == 0);
  const auto more = x.order(job, 3, x.at / "order3");
  summary = x.ask(words{"run"} + job
                  + words{"--snapshot-dir", x.directory, "--resume", "--epochs", "3", "--log",
                          x.at / "third.log"});
  REQUIRE(summary["samples"] == 1000);
  REQUIRE(check_sequence(batches_of(x.at / "third.log"), more, {2, 0}, 1) == more.end());
}

TEST_CASE("resume: a directory in use needs --resume, an empty one holds nothing to inspect") {
  resume_bench x;
  std::filesystem::create_directory(x.directory);
  x.says({"inspect", x.directory}, 1);
  x.says({"inspect", x.at / "none"}, 1);
  x.succeed(x.run(1, 1, {"--steps", "3"}));
  const auto before = x.files();
  x.says(x.run(1, 1, {"--steps", "4"}), 2, {"--snapshot-dir"});
  REQUIRE(x.files() == before);
  x.says({"run", "count:100", "--resume"}, 2);
}

TEST_CASE("resume: a torn newest file is an error that names it, an older set is taken on demand") {
  resume_bench x;
  x.succeed(x.run(1, 2, {"--steps", "6", "--snapshot-every", "3"}));
  const auto torn = x.directory + "/epoch-0-step-6.rank-1-of-2";
  const auto good = read_file(torn);
  auto flipped = good;
  flipped[good.size() - 5] = static_cast<char>(flipped[good.size() - 5] ^ 1);
  for (const auto& bytes :
       {good.substr(0, good.size() - 1), good.substr(0, 5), std::string{}, flipped, good + "x"}) {
    std::ofstream{torn, std::ios::binary | std::ios::trunc} << bytes;
    for (const auto& command :
         {words{"inspect", x.directory}, x.run(1, 3, {"--resume"}), words{"inspect", torn}})
      x.says(command, 1, {torn});
    REQUIRE(x.ask({"inspect", x.directory, "--allow-older"})["step"] == 3);
  }
  auto resumed = x.leat(x.run(1, 3, {"--resume", "--allow-older", "--log", x.at / "log"}));
  REQUIRE(resumed.code == 0);
  REQUIRE(count_of(resumed.errors, "epoch 0 step 6") == 1);
  REQUIRE(check_sequence(batches_of(x.at / "log"), x.due, {0, 3}, 3) == x.due.end());
}

TEST_CASE("resume: a newer incomplete set is skipped with one notice") {
  for (std::uint64_t workers : {0, 2}) {
    resume_bench x;
    x.succeed(x.run(workers, 3, {"--steps", "6", "--snapshot-every", "5"}));
    std::filesystem::remove(x.directory + "/epoch-0-step-6.rank-1-of-3");
    auto inspected = x.leat({"inspect", x.directory, "--json"});
    REQUIRE(json_lines(inspected.output).at(0)["step"] == 5);
    REQUIRE(count_of(inspected.errors, "epoch 0 step 6") == 1);
    auto resumed = x.leat(x.run(workers, 2, {"--resume", "--log", x.at / "log"}));
    REQUIRE(resumed.code == 0);
    CAPTURE(resumed.errors);
    REQUIRE(count_of(resumed.errors, "epoch 0 step 6") == 1);
    REQUIRE(check_sequence(batches_of(x.at / "log"), x.due, {0, 5}, 2) == x.due.end());
  }
}

TEST_CASE("resume: where all sets are incomplete each is named with what it lacks, everywhere") {
  resume_bench x;
  x.succeed(x.run(1, 4, {"--steps", "6", "--snapshot-every", "5"}));
  std::filesystem::remove(x.directory + "/epoch-0-step-6.rank-1-of-4");
  std::filesystem::remove(x.directory + "/epoch-0-step-5.rank-0-of-4");
  std::filesystem::remove(x.directory + "/epoch-0-step-5.rank-3-of-4");
  const words sets{"epoch 0 step 6: 3 of 4 parts, no part of rank 1",
                   "epoch 0 step 5: 2 of 4 parts, no parts of ranks 0, 3"};
  x.says({"inspect", x.directory}, 1, sets);
  const auto resumed =
      x.leat(x.run(1, 1, {"--resume", "--snapshot-every", "100", "--steps", "3", "--json"}));
  REQUIRE(resumed.code == 0);
  REQUIRE(contains(resumed.errors, "from the beginning"));
  for (const auto& set : sets)
    REQUIRE(count_of(resumed.errors, set) == 1);
  const auto summary = json_lines(resumed.output).at(0);
  REQUIRE(summary["skipped_snapshots"] == json(sets));
  REQUIRE(summary["resumed_at"].is_null());
  const auto text = x.leat(x.run(1, 1, {"--resume", "--steps", "4"}));
  for (const auto& set : sets)
    REQUIRE(contains(text.output, set));
  REQUIRE(x.ask(x.run(1, 1, {"--resume", "--steps", "5"}))["resumed_at"]
          == json{{"epoch", 0}, {"step", 4}});
}

TEST_CASE("resume: another job is refused with all that differs, what is safe can be allowed") {
  resume_bench x;
  x.succeed(x.run(1, 2, {"--steps", "6"}));
  const auto files = x.files();
  const auto resumed = [&](const std::string& other) {
    return words_of("run " + other + " --epochs 2 --resume --snapshot-dir " + x.directory);
  };
  words differences;
  for (const auto* name : {"records", "seed", "rows", "lanes", "end", "shuffle"})
    differences.push_back(std::string{"\n  "} + name + ": snapshot ");
  x.says(resumed("count:999:12 --seed 4 --global-batch 50 --lanes 10 --end mask --shuffle none"), 1,
         differences);
  REQUIRE(x.files() == files);
  const std::string other_lanes = "count:1010:12 --seed 3 --global-batch 40 --lanes 20";
  x.says(resumed(other_lanes), 1);
  x.says(resumed(other_lanes + " --allow seed"), 1);
  x.succeed(resumed(other_lanes + " --allow lanes --steps 8"));
  x.says(resumed("count:1010:12 --global-batch 40 --lanes 8 --allow seed --steps 9"), 1);
}

TEST_CASE("resume: another data set and another transform are refused") {
  command_bench x;
  x.make_photos(x.at / "data", 60, 2);
  x.make_photos(x.at / "more", 80, 2);
  const words base{"--global-batch", "12", "--workers", "1", "--snapshot-dir", x.at / "snapshots"};
  x.succeed(words{"run", x.at / "data/*.tar", "--steps", "2"} + base);
  x.says(words{"run", x.at / "more/*.tar", "--resume"} + base, 1,
         {"records: snapshot 60, pipeline 80"});
  const auto other_maps =
      words{"run", x.at / "data/*.tar", "--resume", "--transform", "eval224"} + base;
  x.says(other_maps, 1, {"maps: snapshot "});
  x.succeed(other_maps + words{"--allow", "maps", "--steps", "3"});
  // Moved to another directory and named one by one, the data is the same.
  std::filesystem::rename(x.at / "data", x.at / "moved");
  x.succeed(
      words{"run", x.at / "moved/train-{000000..000001}.tar", "--resume", "--transform", "eval224"}
      + base);
}

TEST_CASE("resume: a store that is full or not a directory is a clear error, and older sets stay") {
  resume_bench x;
  x.succeed(x.run(1, 2, {"--steps", "4"}));
  const auto before = x.files();
  // No file can grow by a byte; the command's output goes through a pipe.
  const auto errors = x.at / "errors";
  for (std::uint64_t workers : {0, 1}) {
    auto full = run_process(
        words{"/bin/sh", "-c",
              "(trap '' XFSZ; ulimit -f 0; \"$@\" 2>&1 >/dev/null; echo \"code $?\") | cat >'"
                  + errors + "'",
              "sh", leat_command}
            + x.run(workers, 2, {"--resume", "--steps", "9", "--snapshot-every", "2"}),
        x.at / "stdout");
    REQUIRE(full.code == 0);
    const auto text = read_file(errors);
    CAPTURE(text);
    REQUIRE(contains(text, "code 1"));
    REQUIRE(contains(text, x.directory));
    REQUIRE(contains(text, "File too large"));
    REQUIRE(x.files() == before);
  }
  x.finish_from({0, 4}, 1, 1);

  std::ofstream{x.at / "file"} << "no directory";
  for (const words& options : {words{}, words{"--resume"}}) {
    auto refused = x.leat(words{"run", "count:1000", "--snapshot-dir", x.at / "file"} + options);
    CAPTURE(refused.errors);
    REQUIRE(refused.code != 0);
    REQUIRE(contains(refused.errors, x.at / "file"));
    REQUIRE(read_file(x.at / "file") == "no directory");
  }
}

TEST_CASE("resume: logs of each rank over changing world sizes are judged as one job") {
  resume_bench x;
  std::vector<std::string> logs;
  const auto run_world = [&](std::uint64_t world_size, std::uint64_t steps) {
    for (std::uint64_t rank = 0; rank < world_size; ++rank) {
      if (logs.size() <= rank)
        logs.push_back(x.at / ("rank-" + std::to_string(rank)));
      x.succeed(x.run(1, world_size,
                      {"--rank", std::to_string(rank), "--steps", std::to_string(steps), "--resume",
                       "--snapshot-every", "5", "--log", logs[rank]}));
    }
  };
  run_world(2, 12);
  run_world(3, 20);
  std::filesystem::remove(x.directory + "/epoch-0-step-20.rank-2-of-3"); // as if it had been killed
  run_world(1, 17);
  run_world(3, 50);
  std::string joined;
  for (const auto& log : logs)
    joined += (joined.empty() ? "" : ",") + log;
  const auto verdict = x.verify({x.at / "order", joined});
  CAPTURE(verdict);
  check_members(verdict, {{"attempts", 4}, {"steps", 50}, {"rows", 2000}, {"digest", x.digest()}});
  // Not so without one of its lines, even if an earlier attempt had that step.
  const auto text = read_file(logs[2]);
  const auto line = text.rfind("{\"epoch\": 0, \"step\": 18,");
  std::ofstream{logs[2]} << text.substr(0, line) + text.substr(text.find('\n', line) + 1);
  REQUIRE(x.verify({x.at / "order", joined})["lost"] == 40);
}

TEST_CASE("resume: a torn last line of a log goes, each start adds a header") {
  resume_bench x;
  const auto log = x.at / "log";
  x.succeed(x.run(1, 2, {"--steps", "3", "--log", log}));
  const auto good = read_file(log);
  std::ofstream{log, std::ios::app} << good.substr(good.rfind("{\"epoch\""), 30);
  x.succeed(x.run(1, 1, {"--resume", "--steps", "5", "--log", log}));
  REQUIRE(read_file(log).compare(0, good.size(), good) == 0);
  auto attempts = attempts_of(log);
  REQUIRE(attempts.size() == 2);
  REQUIRE(attempts[0].header["resumed_at"].is_null());
  REQUIRE(attempts[1].header["resumed_at"] == json{{"epoch", 0}, {"step", 3}});
  REQUIRE(attempts[0].batches.size() == 6);
  auto end = check_sequence(attempts[1].batches, x.due, {0, 3}, 1);
  REQUIRE(end->first == step_key{0, 5});
}

} // namespace
} // namespace leat::test::resume_test
