// Jobs that share a cache on a disk, as a user starts them.

#include "tests/support/command.hpp"
#include "tests/support/fault_server.hpp"
#include "tests/support/files.hpp"

namespace leat::test::cache_test {
namespace {

constexpr std::uint64_t records = 600;
constexpr std::uint64_t record_bytes = 10'000;
constexpr std::uint64_t data_bytes = records * record_bytes;

struct cache_bench : command_bench {
  temporary_directory served;
  std::atomic<std::uint64_t> bytes_sent = 0;
  std::unique_ptr<fault_server> server;

  cache_bench() {
    std::string data(data_bytes, '\0');
    std::mt19937_64 random{1};
    for (auto& x : data)
      x = static_cast<char>(random());
    write_content(served / "x.raw", data);
    server = std::make_unique<fault_server>(served.path(), [this](const auto& x) {
      bytes_sent += std::min(x.end, data_bytes) - x.begin;
      return fault::none;
    });
    job = words{"run", "--epochs", "1", "--json"}
          + pipeline(R"(raw_records(")" + server->url("x.raw") + R"(", dtype="u8", shape=[)"
                     + std::to_string(record_bytes) + "]).shuffle(seed=1).batch(10)");
  }
  words job;
  std::string environment() const {
    return "export no_proxy=127.0.0.1 LEAT_CACHE='" + (at / "cache") + "';";
  }
  /// The digest of a job with the cache.
  std::string digest() const {
    const auto x = leat(job, environment());
    CAPTURE(x.errors);
    REQUIRE(x.code == 0);
    return json::parse(x.output).at("digest");
  }
  other_program begin(std::size_t number) const {
    return other_program{words{"/bin/sh", "-c", environment() + " exec \"$@\"", "sh", leat_command}
                             + job,
                         at / ("out-" + std::to_string(number))};
  }
};

} // namespace

TEST_CASE("a second job over a cache hands over the same, and asks for the version alone") {
  const cache_bench bench;
  const auto plain = bench.leat(bench.job, "export no_proxy=127.0.0.1;");
  REQUIRE(plain.code == 0);
  const std::string expected = json::parse(plain.output).at("digest");
  CHECK(bench.digest() == expected);
  const auto before = bench.bytes_sent.load();
  const auto requests = bench.server->requests();
  CHECK(bench.digest() == expected);
  // A slow request is sent a second time.
  CHECK(bench.bytes_sent <= before + 2);
  CHECK(bench.server->requests() <= requests + 2);
}

TEST_CASE("the command's own cache counts before the environment's") {
  const cache_bench bench;
  const auto plain = bench.leat(bench.job, "export no_proxy=127.0.0.1;");
  REQUIRE(plain.code == 0);
  const std::string expected = json::parse(plain.output).at("digest");
  const auto with = bench.job + words{"--cache", bench.at / "own", "--cache-bytes", "20000000"};
  for (int i = 0; i < 2; ++i) {
    const auto before = bench.bytes_sent.load();
    const auto x = bench.leat(with, bench.environment());
    CAPTURE(x.errors);
    REQUIRE(x.code == 0);
    CHECK(json::parse(x.output).at("digest") == expected);
    CHECK((i == 0 || bench.bytes_sent <= before + 2));
  }
  CHECK(std::filesystem::exists(bench.at / "own/leat-cache-1"));
  CHECK_FALSE(std::filesystem::exists(bench.at / "cache"));
  const auto few = bench.leat(bench.job + words{"--cache", bench.at / "own", "--cache-bytes", "9"});
  CHECK(few.code != 0);
  CHECK(few.errors.find("what a block takes") != std::string::npos);
  CHECK(bench.leat(bench.job + words{"--cache", "s3://b/cache"}).code != 0);
}

TEST_CASE("eight jobs over one cache fetch each byte once, but for slow requests") {
  const cache_bench bench;
  std::vector<other_program> jobs;
  for (std::size_t i = 0; i < 8; ++i)
    jobs.push_back(bench.begin(i));
  std::set<std::string> digests;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    REQUIRE(jobs[i].wait() == 0);
    digests.insert(json::parse(read_file(bench.at / ("out-" + std::to_string(i)))).at("digest"));
  }
  CHECK(digests.size() == 1);
  // Each may send two slow requests a second time; without the cache these were 48,000,000 bytes.
  CHECK(bench.bytes_sent >= data_bytes);
  CHECK(bench.bytes_sent <= 3 * data_bytes);
}

TEST_CASE("jobs that are killed at any moment leave a cache that others use") {
  const cache_bench bench;
  std::filesystem::create_directory(bench.at / "cache");
  write_content(bench.at / "cache/mine.txt", "mine");
  const auto plain = bench.leat(bench.job, "export no_proxy=127.0.0.1;");
  REQUIRE(plain.code == 0);
  const std::string expected = json::parse(plain.output).at("digest");
  std::mt19937_64 random{3};
  for (int round = 0; round < 6; ++round) {
    std::filesystem::remove_all(bench.at / "cache/leat-cache-1");
    std::vector<other_program> jobs;
    for (std::size_t i = 0; i < 3; ++i)
      jobs.push_back(bench.begin(i));
    // The moment of death is the point of the test; nothing waits for it.
    std::this_thread::sleep_for(std::chrono::milliseconds{20 + random() % 200});
    for (auto& x : jobs)
      x.kill();
    CHECK(bench.digest() == expected);
    CHECK(bench.digest() == expected);
  }
  CHECK(content_of(bench.at / "cache/mine.txt") == "mine");
}

} // namespace leat::test::cache_test
