#include "tests/support/command.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/packing.hpp"
#include "tests/support/pipe.hpp"
#include "tests/support/places.hpp"
#include "tests/support/tar_writer.hpp"

// Runs jobs of each kind in which the n-th libc call of some kind fails (tests/shim), for a few n
// of each; with LEAT_EVERY_CALL=1 in the environment, for every n. Whatever failed, the job must
// end with success or with one line that gives the reason, and a resume must then deliver what an
// unbroken job does.
namespace leat::test::failing_calls_test {
namespace {

struct kind_of_call {
  std::string name;
  words codes;
};

const std::vector<kind_of_call> kinds{{"open", {"EMFILE", "EINTR", "EIO", "ENOMEM"}},
                                      {"read", {"EIO", "EINTR"}},
                                      {"pread", {"EIO", "EINTR", "ENOMEM"}},
                                      {"write", {"ENOSPC", "EINTR", "EIO"}},
                                      {"fsync", {"EIO", "EINTR", "ENOSPC"}},
                                      {"rename", {"ENOSPC", "EACCES"}},
                                      {"mmap", {"ENOMEM"}},
                                      {"poll", {"EINTR", "ENOMEM"}},
                                      {"pthread_create", {"EAGAIN"}},
                                      {"malloc", {"ENOMEM"}}};

struct failing_call {
  std::string kind;
  std::string code;
  std::uint64_t at = 0;
  /// How many calls fail; 0: all from there on.
  std::uint64_t times = 1;
};

std::ostream& operator<<(std::ostream& to, const failing_call& x) {
  return to << x.kind << ' ' << x.at << (x.times == 0 ? " and all behind it: " : ": ") << x.code;
}

/// One kind of job, and what it delivers if nothing fails.
class breakable_job {
public:
  /// `input`: lines of standard input.
  breakable_job(words arguments, std::optional<std::string> input = {})
      : arguments_(std::move(arguments)), input_(std::move(input)) {
    with_input(
        [&](const place&) { std::ofstream{order_} << bench.succeed(words{"order"} + arguments_); });
    with_input([&](const place& x) {
      const auto unbroken = bench.leat(command(x));
      CAPTURE(unbroken.errors);
      REQUIRE(unbroken.code == 0);
      digest_ = json_lines(unbroken.output).back().at("digest");
      bad_log_ = read_file(x.at / "log.bad");
    });
  }

  /// Makes a few calls of each kind fail, or every call.
  void fail_everywhere(unsigned seed) {
    std::mt19937 random{seed};
    const bool all = std::getenv("LEAT_EVERY_CALL") != nullptr;
    for (const auto& kind : kinds) {
      const auto calls = count(kind.name);
      const std::uint64_t tries = all ? calls : std::min<std::uint64_t>(calls, 3);
      for (std::uint64_t i = 0; i < tries; ++i) {
        failing_call x{kind.name, kind.codes[random() % kind.codes.size()]};
        x.at = all ? i + 1 : random() % calls + 1;
        // A job whose calls are always interrupted makes no progress.
        x.times = x.code == "EINTR" ? 1 + random() % 3 : random() % 2;
        fail(x);
      }
    }
  }

  /// An interrupted call is repeated: in one run every third call of the kind is interrupted.
  void interrupt_everywhere() {
    for (const auto& kind : kinds)
      if (std::find(kind.codes.begin(), kind.codes.end(), "EINTR") != kind.codes.end())
        for (std::uint64_t first = 0; first < 3; ++first)
          interrupt({kind.name, "EINTR", first});
  }

  void interrupt(const failing_call& every_third) {
    CAPTURE(every_third);
    with_input([&](const place& x) {
      check_whole(x,
                  bench.leat(command(x), "export LEAT_FAIL_EVERY=3;" + environment(every_third)));
    });
  }

  void fail(const failing_call& call) {
    CAPTURE(call);
    with_input([&](const place& x) {
      const auto broken = bench.leat(command(x), environment(call));
      CAPTURE(broken.code, broken.errors);
      check_end(broken);
      // An interrupted call is repeated.
      REQUIRE((call.code != "EINTR" || broken.code == 0));
      check_whole(x, bench.leat(command(x) + words{"--resume"}));
    });
  }

  command_bench bench;

private:
  /// Where one job keeps what it writes, with an input of its own.
  struct place {
    temporary_directory at;
    pipe_pair input;
  };

  template <class Use>
  void with_input(Use use) {
    place x;
    if (input_)
      x.input.write(*input_);
    x.input.close_in();
    const standard_input_from input{x.input.out()};
    use(x);
  }

  words command(const place& x) const {
    auto all = words{"run"} + arguments_
               + words_of("--workers 2 --bad-sample mask --snapshot-every 2 --json")
               + words{"--snapshot-dir", x.at / "snapshots", "--log", x.at / "log"};
    if (input_)
      return all + words{"--journal", x.at / "journal"};
    return arguments_.front() == "--pipeline" ? all : all + words{"--index-dir", x.at / "index"};
  }

  std::string environment(const failing_call& x) const {
    return "export LEAT_FAIL_DEADLINE=60 LEAT_FAIL_SIZE=65536 LEAT_FAIL_CALL=" + x.kind
           + " LEAT_FAIL_ERRNO=" + x.code + " LEAT_FAIL_AT=" + std::to_string(x.at)
           + " LEAT_FAIL_TIMES=" + std::to_string(x.times)
           + " LEAT_FAIL_COUNT=" + bench.at / "count" + " LD_PRELOAD=" + failing_calls + ";";
  }

  /// Number of calls of a kind.
  std::uint64_t count(const std::string& kind) {
    std::uint64_t calls = 0;
    with_input([&](const place& x) {
      REQUIRE(bench.leat(command(x), environment({kind, "EIO"})).code == 0);
      calls = std::stoull(read_file(bench.at / "count"));
    });
    return calls;
  }

  static void check_end(const outcome& x) {
    REQUIRE((x.code == 0 || x.code == 1));
    if (x.code == 0)
      return;
    // The job's error; there may be that of its last save before it.
    const auto ends_job = x.errors.rfind("leat run: ");
    REQUIRE(ends_job != std::string::npos);
    REQUIRE(count_of(x.errors.substr(ends_job), "\n") == 1);
    REQUIRE((ends_job == 0
             || (x.errors.starts_with("leat: loader: a snapshot was not saved: ")
                 && count_of(x.errors, "\n") == 2)));
    REQUIRE(x.errors.ends_with('\n'));
  }

  void check_whole(const place& x, const outcome& ended) const {
    CAPTURE(ended.code, ended.errors);
    REQUIRE(ended.code == 0);
    REQUIRE(json_lines(ended.output).back().at("digest") == digest_);
    bench.verify_good({order_, x.at / "log"});
    REQUIRE(read_file(x.at / "log.bad") == bad_log_);
  }

  words arguments_;
  std::optional<std::string> input_;
  std::string order_ = bench.at / "order";
  std::string digest_;
  std::string bad_log_;
};

/// Uses Catch's seed, which a failure prints.
void check(breakable_job& x) {
  const auto seed = Catch::rngSeed();
  CAPTURE(seed);
  x.interrupt_everywhere();
  x.fail_everywhere(seed);
}

TEST_CASE("failing calls: indexed shards of images") {
  const temporary_directory data;
  command_bench{}.make_photos(data / "photos", 48, 3);
  breakable_job job{{data / "photos/*.tar", "--global-batch", "8"}};
  check(job);
}

TEST_CASE("failing calls: a folder of images, one of them broken") {
  const temporary_directory data;
  for (int i = 0; i < 24; ++i) {
    const auto folder = data / ("class" + std::to_string(i % 3));
    std::filesystem::create_directory(folder);
    const auto jpeg = write_jpeg(test_pixels(64, 64, 3, static_cast<unsigned>(i)), 64, 64);
    const std::string_view bytes{reinterpret_cast<const char*>(jpeg.data()), jpeg.size()};
    tar_writer::write(folder + "/" + std::to_string(i) + ".jpg", i == 17 ? "no image" : bytes);
  }
  breakable_job job{{data.path(), "--global-batch", "6"}};
  check(job);
}

TEST_CASE(
    "failing calls: streams of text, compressed files among them, buffered, mixed and packed") {
  const command_bench data;
  std::ofstream tokens{data.at / "a.jsonl"};
  tar_writer shard;
  for (int i = 0; i < 400; ++i) {
    tokens << json{{"text", std::string(static_cast<std::size_t>(i * 7 % 40), 'a')}} << '\n';
    shard.file(std::to_string(i) + ".text", std::string(static_cast<std::size_t>(i % 31), 'b'));
  }
  tokens.close();
  tar_writer::write(data.at / "b.tar.zst", zstd(shard.end().bytes()));
  tar_writer::write(data.at / "c.tar.gz", gzip(shard.bytes()));
  breakable_job job{
      data.pipeline(R"(a = json_lines("DIR/a.jsonl", ranges=4).shuffle_buffer(64, seed=1)
b = tar_stream("DIR/?.tar.*").filter("bytes_between@1", field="text", min=3)
mix(a, b).pack("text", 64, bins=4).batch(8, lanes=2, end="drop"))")};
  check(job);
}

TEST_CASE("failing calls: lines of standard input, kept in a journal") {
  const command_bench data;
  std::string lines;
  for (int i = 0; i < 160; ++i)
    lines += "line " + std::to_string(i) + '\n';
  breakable_job job{data.pipeline("standard_input().shuffle_buffer(48, seed=1).batch(8, lanes=4)"),
                    lines};
  check(job);
}

} // namespace
} // namespace leat::test::failing_calls_test
