// The command with data in a bucket.

#include "tests/support/command.hpp"
#include "tests/support/s3_service.hpp"
#include "tests/support/tar_writer.hpp"

#include <atomic>
#include <cstdlib>
#include <semaphore>

namespace leat::remote_command_test {
namespace {

using namespace leat::test;

/// A bucket "b" that anybody may read and write, and a bench to run commands on it.
struct bucket_bench : command_bench {
  explicit bucket_bench(int shards = 2) {
    std::filesystem::create_directories(at / "b/train");
    for (int shard = 0; shard < shards; ++shard) {
      tar_writer tar;
      for (int i = 0; i < 20; ++i)
        tar.file(std::to_string(i) + ".txt", std::string(static_cast<std::size_t>(i * 40), 'x'));
      tar.end().save(at / ("b/train/" + std::to_string(shard) + ".tar"));
    }
    server.service = s3_service{.folder = at.path(), .open_buckets = {"b"}};
  }
  /// For any subcommand that reads data.
  words there() const { return {"--endpoint", server.address(), "--anonymous"}; }

  /// Commands that start from now on find no index that an earlier one has kept.
  void begin_on_new_machine() {
    const auto home = at / ("machine" + std::to_string(++machines));
    REQUIRE(::setenv("XDG_CACHE_HOME", home.c_str(), 1) == 0);
  }

  int machines = 0;
  /// Of shards.
  mutable std::atomic<int> reads{0};
  /// Whoever puts a manifest hears nothing.
  std::atomic<bool> stalls{false};
  mutable std::binary_semaphore has_stalled{0};
  fault_server server{at.path(), [this](const fault_server::request& x) {
                        reads += x.method == "GET" && x.path.ends_with(".tar") ? 1 : 0;
                        if (!stalls || x.method != "PUT" || !x.path.ends_with(".leat-manifest"))
                          return fault::none;
                        has_stalled.release();
                        return fault::stalls;
                      }};
};

TEST_CASE("remote command: a job over a bucket is that over files, also from a pipeline's text") {
  const bucket_bench x;
  const auto order = [&](const words& data, const words& more) {
    return x.succeed(words{"order"} + data
                     + words{"--global-batch", "8", "--seed", "3", "--index-dir", x.at / "index"}
                     + more);
  };
  const auto near = order({x.at / "b/train/*.tar"}, {});
  CHECK(order({"s3://b/train/*.tar"}, x.there()) == near);
  x.write("job", "tar_shards(\"s3://b/train/*.tar\", index_dir=\"" + (x.at / "index")
                     + "\").shuffle(seed=3).batch(8)");
  CHECK(x.succeed(words{"order", "--pipeline", x.at / "job"} + x.there()) == near);
  const auto facts = [&](const words& data, const words& more) {
    return x.ask(words{"index"} + data + words{"--index-dir", x.at / "index"} + more)["digest"];
  };
  CHECK(facts({"s3://b/train/*.tar"}, x.there()) == facts({x.at / "b/train/*.tar"}, {}));
  x.says(words{"index", "s3://b/train/*.tar", "--endpoint", "ftp://x"}, 2, {"the endpoint"});
}

TEST_CASE("remote command: indexes are put beside shards, and a manifest of all of them") {
  bucket_bench x;
  x.begin_on_new_machine();
  const words bucket{"s3://b/train/*.tar"};
  const auto digest = x.ask(words{"index", x.at / "b/train/*.tar"})["digest"];
  const auto made =
      x.ask(words{"index"} + bucket + words{"--out", "s3://b/train", "--index-dir", x.at / "one"}
            + x.there());
  CHECK(made["digest"] == digest);
  CHECK(made["put"]["manifest"] == "s3://b/train/data.leat-manifest");
  CHECK(made["put"]["shards"] == 2);
  for (const char* name : {"0.tar.leat-index", "1.tar.leat-index", "data.leat-manifest"})
    CHECK(std::filesystem::exists(x.at / ("b/train/" + std::string{name})));
  for (const std::string place : {"s3://b/train/data.leat-manifest", "s3://b/train"})
    CHECK(x.ask(words{"index"} + bucket + words{"--index-dir", place, "--no-row-index"}
                + x.there())["digest"]
          == digest);
  const auto text = x.succeed(
      words{"index"} + bucket
      + words{"--out", "s3://b/all.leat-manifest", "--index-dir", x.at / "one"} + x.there());
  CHECK(contains(text, "put      s3://b/all.leat-manifest"));
  x.says(words{"index", x.at / "b/train/*.tar", "--out", "s3://b/train"} + x.there(), 1,
         {"shards of this machine"});
  x.says(words{"index"} + bucket + words{"--out", "https://h.example/x"} + x.there(), 1,
         {"https://h.example/x", "s3://"});
  x.says(words{"index"} + bucket + words{"--index-dir", "s3://b/none.leat-manifest"} + x.there(), 1,
         {"none.leat-manifest"});
}

TEST_CASE("remote command: every rank starts with a handful of requests, and none for a shard") {
  bucket_bench x{16};
  x.begin_on_new_machine();
  const words bucket{"s3://b/train/{0..15}.tar"};
  const std::string manifest = "s3://b/train/data.leat-manifest";
  x.succeed(words{"index"} + bucket + words{"--out", "s3://b/train", "--no-row-index"} + x.there());
  const words how{"--global-batch", "8", "--seed", "3"};
  const auto near =
      x.succeed(words{"order", x.at / "b/train/{0..15}.tar", "--index-dir", x.at / "near"} + how);
  for (int rank = 0; rank < 3; ++rank) {
    x.begin_on_new_machine();
    const auto requests = x.server.requests();
    const auto reads = x.reads.load();
    CHECK(x.succeed(words{"order"} + bucket + how + words{"--index-dir", manifest} + x.there())
          == near);
    CHECK(x.reads == reads);
    CHECK(x.server.requests() - requests <= 4);
  }
  const auto run = [&](const words& data, const words& more) {
    return x.ask(words{"run"} + data + how + words{"--workers", "2"} + more)["digest"];
  };
  CHECK(run(bucket, words{"--index-dir", manifest} + x.there())
        == run({x.at / "b/train/{0..15}.tar"}, {"--index-dir", x.at / "near"}));
  for (const std::string command : {"order", "graph"})
    x.says(words{command, x.at / "b/train/{0..15}.tar", "--index-dir", manifest} + how + x.there(),
           1, {"shards of this machine"});
}

TEST_CASE("remote command: killed before the manifest is put, leat index leaves what was there") {
  bucket_bench x;
  x.begin_on_new_machine();
  const words bucket{"s3://b/train/*.tar"};
  const auto index = words{"index"} + bucket + words{"--out", "s3://b/train"} + x.there();
  const auto digest = x.ask(index)["digest"];
  const auto before = read_file(x.at / "b/train/data.leat-manifest");
  const auto one = x.at / "b/train/1.tar.leat-index";
  REQUIRE(std::filesystem::remove(one));
  x.stalls = true;
  {
    other_program putting{words{leat_command} + index, x.at / "killed"};
    x.has_stalled.acquire();
    putting.kill();
  }
  x.stalls = false;
  CHECK(std::filesystem::exists(one));
  CHECK(read_file(x.at / "b/train/data.leat-manifest") == before);
  for (const std::string place : {"s3://b/train/data.leat-manifest", "s3://b/train"}) {
    x.begin_on_new_machine();
    CHECK(x.ask(words{"index"} + bucket + words{"--index-dir", place, "--no-row-index"}
                + x.there())["digest"]
          == digest);
  }
}

TEST_CASE("remote command: a job says what servers were asked for, and nothing of none") {
  const bucket_bench x;
  const auto summary = [&](const words& data, const words& more) {
    return x.ask(words{"run"} + data
                 + words{"--global-batch", "4", "--workers", "2", "--index-dir", x.at / "index"}
                 + more);
  };
  const auto far = summary({"s3://b/train/*.tar"}, x.there());
  REQUIRE(far["remote"].is_object());
  CHECK(far["remote"]["requests"] > 0);
  CHECK(far["remote"]["bytes_received"] > 0);
  CHECK(far["remote"].contains("retries"));
  CHECK(far["bound_by"].contains("awaiting_bytes"));
  const auto near = summary({x.at / "b/train/*.tar"}, {});
  CHECK(near["remote"].is_null());
  CHECK(near["digest"] == far["digest"]);
}

TEST_CASE(
    "remote command: a resume is refused where objects have changed, unless that is allowed") {
  bucket_bench x;
  const auto run = [&](const words& data, const words& more) {
    return words{"run"} + data
           + words{"--global-batch", "4", "--workers", "1", "--snapshot-dir", x.at / "snapshots"}
           + more;
  };
  const words bucket{"s3://b/train/*.tar"};
  x.succeed(run(bucket, x.there() + words{"--steps", "3"}));
  x.succeed(run(bucket, x.there() + words{"--steps", "4", "--resume"})); // as it was
  x.server.change();
  const auto again = run(bucket, x.there() + words{"--steps", "6", "--resume"});
  x.says(again, 1, {"pins", "s3://b/train/0.tar", "-1\"", "-2\"", "can be allowed"});
  // A disk has the same data, whatever versions the bucket has.
  x.succeed(run({x.at / "b/train/*.tar"}, {"--steps", "5", "--resume"}));
  x.succeed(again); // from the disk's snapshot
  x.server.change();
  const auto later = run(bucket, x.there() + words{"--steps", "8", "--resume"});
  x.says(later, 1, {"pins"});
  x.succeed(later + words{"--allow", "pins"});
  x.succeed(run(bucket, x.there() + words{"--steps", "9", "--resume"})); // it holds from then on
}

TEST_CASE("remote command: ls shows files, folders and what patterns match") {
  const bucket_bench x;
  const auto sizes = [&](const std::string& name, const words& more) {
    std::vector<std::string> lines;
    for (const auto& line : json_lines(x.succeed(words{"ls", name, "--json"} + more)))
      lines.push_back(line["kind"].get<std::string>() + " " + line["name"].get<std::string>()
                      + (line.contains("bytes") ? " " + line["bytes"].dump() : ""));
    return lines;
  };
  const auto size = " " + std::to_string(std::filesystem::file_size(x.at / "b/train/0.tar"));
  const std::vector<std::string> both{"file s3://b/train/0.tar" + size,
                                      "file s3://b/train/1.tar" + size};
  CHECK(sizes("s3://b/train", x.there()) == both);
  CHECK(sizes("s3a://b/train/*.tar", x.there()) == both);
  CHECK(sizes("s3://b/train/{0,1}.tar", x.there()) == both);
  CHECK(sizes("s3://b/train/1.tar", x.there()) == std::vector{both.back()});
  CHECK(sizes("s3://b", x.there()) == std::vector<std::string>{"folder s3://b/train"});
  CHECK(sizes(x.at / "b", {}) == std::vector<std::string>{"folder " + (x.at / "b/train")});
  const auto text = x.succeed(words{"ls", "s3://b/train"} + x.there());
  CHECK(contains(text, "s3://b/train/1.tar\n"));
  CHECK(contains(text, "2 files, "));
  x.says(words{"ls", "s3://b/none"} + x.there(), 1, {"s3://b/none"});
}

TEST_CASE("remote command: probe says who asks, and how fast what comes") {
  const bucket_bench x;
  const auto found = x.ask(words{"probe", "s3://b/train/0.tar"} + x.there());
  CHECK(found["name"] == "s3://b/train/0.tar");
  CHECK(found["bytes"] == std::filesystem::file_size(x.at / "b/train/0.tar"));
  CHECK(found["server"] == x.server.address() + "/b");
  CHECK(found["asked_by"] == "");
  CHECK(found["version"] != "");
  for (const char* member : {"clock_ahead", "retries", "second_requests"})
    CHECK(found.contains(member));
  REQUIRE(found["rates"].size() == 4);
  for (const auto& rate : found["rates"])
    CHECK(rate["bytes_per_second"] > 0);
  const auto text = x.succeed(words{"probe", "s3://b/train/0.tar"} + x.there());
  CHECK(contains(text, "requests are not signed"));
  x.says(words{"probe", "s3://b/train/none.tar"} + x.there(), 1, {"none.tar"});
}

} // namespace
} // namespace leat::remote_command_test
