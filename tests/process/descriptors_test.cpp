#include "tests/support/catch.hpp"
#include "tests/support/other_program.hpp"
#include "tests/support/packing.hpp"
#include "tests/support/places.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/standard.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

// The command as a supervisor may start it, with standard input, output or error closed.
namespace leat::test::descriptors_test {
namespace {

/// Runs a script in a shell, in `at`; `$LEAT` is the command.
finished_process shell(const temporary_directory& at, const std::string& script) {
  const auto text = "cd '" + at.path() + "' && LEAT='" + leat_command + "' && " + script;
  return run_process({"/bin/sh", "-c", text}, at / "output");
}

/// Runs a command that must fail with this text.
void check_failure(const std::string& command, const std::string& text) {
  const temporary_directory at;
  const auto got = shell(at, "timeout 100 \"$LEAT\" " + command + " 2>&1");
  CAPTURE(got.output);
  CHECK(got.code == 1);
  CHECK(got.output.find(text) != std::string::npos);
}

TEST_CASE("descriptors: a job whose standard input is closed says so instead of waiting for it") {
  check_failure("run - --global-batch 2 <&-", "standard input that is closed");
}

TEST_CASE("descriptors: with all three closed a job runs, and what it prints is in no file") {
  temporary_directory at;
  const std::string job = "timeout 100 \"$LEAT\" run count:200 --global-batch 10 --snapshot-dir ";
  const auto plain = shell(at, job + "a --snapshot-every 3 --log a.log >/dev/null");
  REQUIRE(plain.code == 0);
  shell(at, job + "b --snapshot-every 3 --log b.log <&- >&- 2>&-");
  CHECK(read_file(at / "a.log") == read_file(at / "b.log"));
  CHECK(shell(at, "timeout 100 \"$LEAT\" verify a.log b.log >/dev/null && diff -r a b").code == 0);
}

TEST_CASE("descriptors: a job that hangs in its own thread is ended, and the error says where") {
  check_failure("run count:100 --workers 0 --fault slow:0,60000 --stuck-after 100",
                "leat run: stuck: ");
}

/// More files than a small limit allows, in pipelines of many sources.
class many_files {
public:
  many_files() {
    for (int i = 0; i < 300; ++i) {
      tar_writer tar;
      for (int k = 0; k < 2; ++k)
        tar.file(std::to_string(k) + ".txt", std::to_string(1000 * i + k));
      tar.end().save(folder("many") + std::to_string(i) + ".tar");
    }
    for (int i = 0; i < 64; ++i) {
      std::string lines;
      for (int k = 0; k < 24; ++k) // more than one block that is read at once
        lines += "{\"x\": " + std::to_string(1000 * i + k) + ", \"text\": \""
                 + std::string(5000, 'a') + "\"}\n";
      const auto name = std::to_string(i) + ".jsonl";
      tar_writer::write(folder("text") + name + (i % 8 == 0 ? ".gz" : ""),
                        i % 8 == 0 ? gzip(lines) : lines);
    }
    write_mix("tars", 4, "tar_shards(\"many/*.tar\").shuffle(seed=#)", "batch(16, end=\"drop\")");
    write_mix("lines", 20, "json_lines(\"text/*\")", "batch(64, lanes=64, end=\"drop\")");
  }

  finished_process run(const std::string& pipeline, const std::string& limit) const {
    // The shell itself would need one more for 2>&1 below a limit. $few leaves three free
    // descriptors; some may be in use already, inherited from whoever runs the tests.
    const std::string few = "few=3; for free in 1 2 3; do "
                            "while [ -e /proc/$$/fd/$few ]; do few=$((few + 1)); done; "
                            "few=$((few + 1)); done; ";
    return shell(at_, "exec 2>&1; " + few + limit + "; timeout 200 \"$LEAT\" run --pipeline "
                          + pipeline + ".leat --workers 3 --epochs 1 --snapshot-dir " + pipeline
                          + " --snapshot-every 9 --json");
  }

private:
  std::string folder(const std::string& name) const {
    std::filesystem::create_directories(at_ / name);
    return at_ / (name + "/");
  }

  /// `source` has # in place of the number of the source.
  void write_mix(const std::string& name, int sources, const std::string& source,
                 const std::string& batch) const {
    std::string text;
    std::string names;
    for (int i = 0; i < sources; ++i) {
      auto one = source;
      if (const auto at = one.find('#'); at != std::string::npos)
        one.replace(at, 1, std::to_string(i));
      text += "s" + std::to_string(i) + " = " + one + "\n";
      names += (i == 0 ? "s" : ", s") + std::to_string(i);
    }
    tar_writer::write(at_ / (name + ".leat"), text + "mix(" + names + ")." + batch + "\n");
  }

  temporary_directory at_;
};

/// Checks that a job runs under these limits, with the same digest.
void check_limits(const std::string& pipeline, const std::vector<std::string>& limits) {
  const many_files x;
  std::set<std::string> digests;
  for (const auto& limit : limits) {
    const auto got = x.run(pipeline, "rm -rf " + pipeline + limit);
    CAPTURE(limit, got.output);
    REQUIRE(got.code == 0);
    const auto at = got.output.rfind("\"digest\":");
    REQUIRE(at != std::string::npos);
    digests.insert(got.output.substr(at, 42));
    CHECK(digests.size() == 1);
  }
}

TEST_CASE(
    "descriptors: a mix of more shards than the process may open runs, with the same batches") {
  check_limits("tars", {"", "; ulimit -n 1024", "; ulimit -Sn 1024", "; ulimit -n 64"});
}

TEST_CASE("descriptors: so does a mix of lanes that each read a file, compressed ones among them") {
  check_limits("lines", {"", "; ulimit -n 1024", "; ulimit -n 64"});
}

TEST_CASE("descriptors: where there are too few for anything, the error names the limit") {
  if (sanitized) {
    WARN("skipped: a sanitizer needs a pipe of its own to look at an object's type");
    return;
  }
  const many_files x;
  for (const auto* pipeline : {"tars", "lines"}) {
    const auto got = x.run(pipeline, "echo may have $few; ulimit -n $few");
    CAPTURE(got.output);
    CHECK(got.code == 1);
    CHECK(got.output.find("no resources: ") != std::string::npos);
    const auto may = got.output.substr(0, got.output.find('\n'));
    CHECK(got.output.find("this process " + may + " (ulimit -n)") != std::string::npos);
  }
}

TEST_CASE("descriptors: the command raises its own limit, as far as it may") {
  const many_files x;
  CHECK(x.run("tars", "ulimit -Sn $few").code == 0);
}

} // namespace
} // namespace leat::test::descriptors_test
