// Options for servers: of a source, of a pipeline from text, and of a loader.

#include "runtime/pipeline/operator_node.hpp"
#include "runtime/storage/remote/byte_budget.hpp"
#include "runtime/storage/remote/transfer_pool.hpp"
#include "tests/support/block_files.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/files.hpp"
#include "tests/support/job.hpp"
#include "tests/support/s3_service.hpp"
#include "tests/support/standard.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/pipeline_facts.hpp>
#include <leat/streams.hpp>

#include <filesystem>
#include <fstream>

namespace leat::remote_options_test {
namespace {

using test::fault_server;
using test::s3_service;
using test::tar_writer;
using test::temporary_directory;

constexpr auto planted = "PLANTED-secret";

/// A service whose bucket "b" has two shards and a list of them, which only the owner of the keys
/// may read.
struct bucket {
  explicit bucket(const std::string& key = "AK") : owner{key, secret{planted}, secret{}} {
    std::filesystem::create_directory(dir / "b");
    for (int shard = 0; shard < 2; ++shard) {
      tar_writer tar;
      for (int i = 0; i < 20; ++i)
        tar.file(std::to_string(i) + ".txt", std::string(static_cast<std::size_t>(i * 40), 'x'));
      tar.end().save(dir / ("b/" + std::to_string(shard) + ".tar"));
    }
    std::ofstream{dir / "b/list.txt"} << "0.tar\n1.tar\n";
    server.service = s3_service{.folder = dir.path(), .owner = owner};
  }

  remote_options options() const {
    remote_options x;
    x.endpoint = server.address();
    x.access_key = owner.access_key;
    x.secret_key = owner.secret_key;
    return x;
  }
  tar_options of_shards() const { return {.index_dir = dir / "index", .remote = options()}; }

  temporary_directory dir;
  aws_credentials owner;
  fault_server server{dir.path()};
};

pipeline batched(const pipeline& x) {
  return x.shuffle({.seed = 3}).batch(8, {.lanes = 4, .end = epoch_end::mask});
}

std::vector<job_step> steps_of(const pipeline& x, const remote_options& how = {}) {
  return run_job(x, {.workers = 1, .hash_pixels = true, .remote = how}, 1);
}

pipeline read_anew(const pipeline& x) {
  return parse_pipeline(to_string(x));
}

TEST_CASE("remote options: a source, a pipeline from text and a loader read as from files") {
  const bucket at;
  const auto near =
      steps_of(batched(tar_shards(at.dir / "b/*.tar", {.index_dir = at.dir / "index"})));
  const auto far = batched(tar_shards("s3://b/*.tar", at.of_shards()));
  CHECK(steps_of(far) == near);
  const auto text = read_anew(far);
  CHECK(text == far);
  CHECK(code_of([&] { steps_of(text, {.endpoint = at.server.address(), .anonymous = true}); })
        == errc::io);
  CHECK(steps_of(text, at.options()) == near);
  CHECK(steps_of(with_remote(text, at.options())) == near);
  // The options of a source count before those of the loader.
  CHECK(steps_of(far, {.anonymous = true}) == near);
}

TEST_CASE("remote options: two loaders of one pipeline read with their own") {
  const bucket one;
  const bucket two{"AK2"};
  const auto text = read_anew(batched(tar_shards("s3://b/*.tar", one.of_shards())));
  const auto near = steps_of(text, one.options());
  loader first{text, {.workers = 1, .hash_pixels = true, .remote = one.options()}};
  loader second{text, {.workers = 1, .hash_pixels = true, .remote = two.options()}};
  CHECK(next_steps(first) == near);
  CHECK(next_steps(second) == near);
  CHECK(two.server.requests() > 0);
}

TEST_CASE("remote options: files that are named while a job runs") {
  const bucket at;
  const auto read = [&](const std::string& folder, const remote_options& how) {
    return lines(folder + "/list.txt", {.remote = how})
        .read_files(file_format::tar, {.folder = folder, .remote = how})
        .batch(8, {.lanes = 1, .end = epoch_end::mask});
  };
  const auto near = steps_of(read(at.dir / "b", {}));
  CHECK_FALSE(near.empty());
  const auto far = read("s3://b", at.options());
  CHECK(steps_of(far) == near);
  CHECK(steps_of(read_anew(far), at.options()) == near);
}

TEST_CASE("remote options: an input that several operators share is opened once") {
  const bucket at;
  const auto shared = read_anew(tar_shards("s3://b/*.tar", at.of_shards()));
  const auto both = with_remote(concat({shared.take(20), shared.skip(20)}), at.options());
  CHECK(both.size() == 40);
  CHECK(both.root().inputs[0]->inputs[0] == both.root().inputs[1]->inputs[0]);
}

TEST_CASE("remote options: stand in no text, snapshot and error") {
  const bucket at;
  const auto far = batched(tar_shards("s3://b/*.tar", at.of_shards()));
  loader job{far, {.workers = 0}};
  (void)job.next();
  auto wrong = at.options();
  wrong.access_key = "other";
  std::string error_text;
  try {
    steps_of(read_anew(far), wrong);
  } catch (const error& x) {
    error_text = x.what();
  }
  REQUIRE_FALSE(error_text.empty());
  for (const auto& text : {to_string(far), job.snapshot(), error_text}) {
    CHECK(text.find(planted) == std::string::npos);
    CHECK(text.find(at.server.address()) == std::string::npos);
  }
}

TEST_CASE("remote options: the limit of what is read ahead is the process's") {
  const auto before = process_read_ahead().limit();
  CHECK(with_remote(count(9), {.bytes_in_flight = 12'345'678}).size() == 9);
  CHECK(process_read_ahead().limit() == 12'345'678);
  process_read_ahead().set_limit(before);
}

TEST_CASE("remote options: with a cache the same is read, and a second job fetches no block") {
  const bucket at;
  const temporary_directory kept;
  auto how = at.options();
  how.cache = kept.path();
  how.cache_bytes = 50'000'000;
  const auto text = read_anew(batched(tar_shards("s3://b/*.tar", at.of_shards())));
  const auto near = steps_of(text, at.options());
  CHECK(test::block_files_anywhere(kept.path()).empty());
  CHECK(steps_of(text, how) == near);
  const auto& done = process_transfers().cached();
  const auto fetched = done.blocks_fetched.load();
  const auto found = done.bytes_found.load();
  CHECK(fetched >= 2);
  CHECK(steps_of(text, how) == near);
  CHECK(done.blocks_fetched == fetched);
  CHECK(done.bytes_found > found);
  const auto files = test::block_files_anywhere(kept.path());
  CHECK(files.size() == 2);
  for (const auto& x : files)
    for (const auto& secret : {std::string{planted}, at.server.address(), at.dir.path()}) {
      CHECK(x.find(secret) == std::string::npos);
      CHECK(test::content_of(x).find(secret) == std::string::npos);
    }
}

TEST_CASE("remote options: two loaders share the cache of one directory, and others have theirs") {
  const bucket at;
  const temporary_directory one;
  const temporary_directory two;
  auto how = at.options();
  how.cache = one.path();
  auto other = at.options();
  other.cache = two.path();
  const auto text = read_anew(batched(tar_shards("s3://b/*.tar", at.of_shards())));
  const auto near = steps_of(text, at.options());
  {
    loader first{text, {.workers = 1, .hash_pixels = true, .remote = how}};
    loader second{text, {.workers = 1, .hash_pixels = true, .remote = how}};
    loader third{text, {.workers = 1, .hash_pixels = true, .remote = other}};
    CHECK(next_steps(first) == near);
    CHECK(next_steps(third) == near);
    CHECK(next_steps(second) == near);
  }
  CHECK(test::block_files_anywhere(one.path()).size() == 2);
  CHECK(test::block_files_anywhere(two.path()).size() == 2);
}

TEST_CASE("remote options: a cache that cannot be is refused") {
  CHECK(code_of([] { (void)with_remote(count(9), {.cache_bytes = 5'000'000}); })
        == errc::invalid_argument);
  CHECK(code_of([] { (void)with_remote(count(9), {.cache = "/tmp/x", .cache_bytes = 5}); })
        == errc::invalid_argument);
  CHECK(code_of([] { (void)with_remote(count(9), {.cache = "s3://b/cache"}); })
        == errc::invalid_argument);
}

TEST_CASE("remote options: snapshots go to no server") {
  loader job{count(100).batch(10), {.workers = 0}};
  (void)job.next();
  CHECK(code_of([&] { job.save("s3://b/snapshots"); }) == errc::invalid_argument);
  loader other{count(100).batch(10), {.workers = 0}};
  CHECK(code_of([&] { (void)other.restore("https://h/snapshots"); }) == errc::invalid_argument);
  CHECK(code_of([] { (void)count(9).journal("s3://b/journal"); }) == errc::invalid_argument);
}

} // namespace
} // namespace leat::remote_options_test
