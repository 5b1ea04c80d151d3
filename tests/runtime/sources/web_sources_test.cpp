// Sources over a web server that misbehaves give what they give over files.

#include "runtime/sources/lines/line_format.hpp"
#include "runtime/sources/lines/line_source.hpp"
#include "runtime/sources/tar/tar_source.hpp"
#include "runtime/sources/tar/tar_stream_source.hpp"
#include "runtime/sources/tokens/token_source.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/drain.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/in_threads.hpp"
#include "tests/support/job.hpp"
#include "tests/support/linear_pipeline.hpp"
#include "tests/support/megatron_writer.hpp"
#include "tests/support/npy_writer.hpp"
#include "tests/support/packing.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/s3_service.hpp"
#include "tests/support/source_reading.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/web_files.hpp"

#include <leat/leat.hpp>

#include <random>

namespace leat::web_sources_test {
namespace {

using namespace leat::test;
using names = std::vector<std::string>;

/// Shards, lines, JSON lines, tokens and arrays, each of two files.
void write_data(const temporary_directory& dir, std::mt19937_64& random) {
  for (const std::string name : {"0", "1"}) {
    tar_writer tar;
    for (int i = 0; i < 15; ++i)
      for (const std::string field : {"jpg", "cls"})
        tar.file("k" + std::to_string(i) + "." + field,
                 random_bytes(random, random() % (i % 5 == 0 ? 90'000 : 900)));
    tar.end().save(dir / (name + ".tar"));
    write_content(dir / (name + ".tar.gz"), gzip(content_of(dir / (name + ".tar"))));
    std::string text;
    std::string json;
    for (int i = 0; i < 400; ++i) {
      const std::string value(random() % 300, 'v');
      text += value + "\n";
      json += "{\"v\": \"" + value + "\", \"n\": " + std::to_string(i) + "}\n";
    }
    write_content(dir / (name + ".txt"), text);
    write_content(dir / (name + ".jsonl"), json);
    write_content(dir / (name + ".tokens"), random_bytes(random, 4 * 9000));
    write_content(dir / (name + ".npy"),
                  npy_bytes("<i4", "(20, 700)", random_bytes(random, 20 * 2800)));
    megatron_writer documents{dtype::i32};
    for (int n = 0; n < 20; ++n)
      documents.document({random_bytes(random, 4 * (random() % 3000))});
    documents.save(dir / name);
  }
}

/// The same files of the folder, and of its server.
struct both {
  const temporary_directory& dir;
  const http_store& store;
  const fault_server& server;

  file_set near(const names& x) const {
    std::vector<std::string> paths;
    for (const auto& name : x)
      paths.push_back(dir / name);
    return find_files(paths, "test");
  }
  file_set far(const names& x) const { return files_at(store, server, x); }
};

void check_indexed(const stored_source& near, const stored_source& far) {
  const auto want = read_all(near);
  CHECK(read_all(far) == want);
  std::vector<stream_sample> got(want.size());
  in_threads(4, [&](unsigned t) {
    sample into;
    for (std::uint64_t i = t; i < far.size(); i += 4)
      got[i] = read_one(far, i, into);
  });
  CHECK(got == want);
  auto facts = far.facts();
  CHECK(facts.versions.are_known());
  facts.versions = {}; // files of this machine have none
  CHECK(facts == near.facts());
}

void check_stream(const stream_source& near, const stream_source& far) {
  CHECK(far.facts().digest == near.facts().digest);
  for (std::uint64_t unit = 0; unit < near.units(); ++unit) {
    const auto want = read_unit(near, unit);
    const auto got = read_unit(far, unit);
    REQUIRE(got.size() == want.size());
    for (std::size_t i = 0; i < want.size(); ++i)
      REQUIRE(read_record(far, got[i]) == read_record(near, want[i]));
    // Records that are read again, of their places alone.
    for (std::size_t i = 0; i < want.size(); i += 5)
      REQUIRE(read_record(far, want[i]) == read_record(near, want[i]));
  }
}

void check_all(const both& at) {
  check_indexed(*open_tar_source(at.near({"0.tar", "1.tar"}), {.index_dir = at.dir / "near"}),
                *open_tar_source(at.far({"0.tar", "1.tar"}), {.index_dir = at.dir / "far"}));
  const names tokens{"0.tokens", "1.tokens"};
  check_indexed(*open_token_source(at.near(tokens), dtype::i32, 300, {.stride = 170}),
                *open_token_source(at.far(tokens), dtype::i32, 300, {.stride = 170}));
  check_indexed(*open_npy_source(at.near({"0.npy", "1.npy"})),
                *open_npy_source(at.far({"0.npy", "1.npy"})));
  check_indexed(*open_megatron_source(at.near({"0.idx", "1.idx"})),
                *open_megatron_source(at.far({"0.idx", "1.idx"})));
  for (const names& x : {names{"0.tar", "1.tar"}, names{"0.tar.gz", "1.tar.gz"}})
    check_stream(tar_stream_source{at.near(x)}, tar_stream_source{at.far(x)});
  const names lines{"0.txt", "1.txt"};
  check_stream(line_source{"lines", at.near(lines), 3, text_lines()},
               line_source{"lines", at.far(lines), 3, text_lines()});
  const names json{"0.jsonl", "1.jsonl"};
  check_stream(line_source{"json_lines", at.near(json), 2, json_object_lines()},
               line_source{"json_lines", at.far(json), 2, json_object_lines()});
}

TEST_CASE("web sources: the same samples and digests as over files") {
  std::mt19937_64 random{1};
  const temporary_directory dir;
  write_data(dir, random);
  const fault_server server{dir.path()};
  const http_store store{impatient()};
  check_all({dir, store, server});
}

TEST_CASE("web sources: the same samples and digests while responses go wrong in all ways") {
  std::uint64_t faults = 0;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random{seed};
    const temporary_directory dir;
    write_data(dir, random);
    const fault_server server{dir.path(), random_faults(seed, 12, passing_faults())};
    const http_store store{impatient_with_hangs(seed)};
    check_all({dir, store, server});
    faults += server.faults();
  }
  CHECK(faults > 60);
}

TEST_CASE("web sources: a shard is indexed by reading it once, and never again") {
  std::mt19937_64 random{2};
  const temporary_directory dir;
  tar_writer tar;
  for (int i = 0; i < 2000; ++i)
    tar.file("k" + std::to_string(i) + ".txt", random_bytes(random, 700));
  tar.end().save(dir / "x.tar");
  const fault_server server{dir.path()};
  const http_store store{impatient()};
  const tar_options options{.index_dir = dir / "index"};
  CHECK(open_tar_source(files_at(store, server, {"x.tar"}), options)->size() == 2000);
  CHECK(server.requests() < 20); // 2.6 MB, and not a request for each of the headers
  const auto before = server.requests();
  CHECK(open_tar_source(files_at(store, server, {"x.tar"}), options)->size() == 2000);
  CHECK(server.requests() == before + 1);
}

TEST_CASE("web sources: a stream is not fetched twice") {
  std::mt19937_64 random{3};
  const temporary_directory dir;
  tar_writer tar;
  for (int i = 0; i < 500; ++i)
    tar.file("k" + std::to_string(i) + ".txt", random_bytes(random, 7000));
  tar.end().save(dir / "x.tar");
  std::atomic<std::uint64_t> asked = 0;
  const fault_server server{dir.path(), [&](const auto& x) {
                              asked += x.end - x.begin;
                              return fault::none;
                            }};
  const http_store store{impatient()};
  const tar_stream_source data{files_at(store, server, {"x.tar"})};
  for (const auto& x : read_unit(data, 0))
    read_record(data, x);
  CHECK(asked <= std::filesystem::file_size(dir / "x.tar") + 10);
}

// Through pipelines, which find the process's own store by the names.

std::vector<job_step> job_of(const pipeline& data, std::size_t workers) {
  loader x{data, {.workers = workers, .epochs = 2, .hash_pixels = true}};
  return next_steps(x);
}

/// Pipelines of the files at this place.
std::vector<pipeline> pipelines_at(const std::string& at, const std::string& index_dir) {
  return {tar_shards(at + "{0..1}.tar", {.index_dir = index_dir})
              .shuffle({.seed = 3})
              .batch(8, {.lanes = 4, .end = epoch_end::mask}),
          raw_records(at + "0.tokens", dtype::i32, {100}).shuffle({.seed = 3}).batch(8),
          lines(at + "{0..1}.txt", {.ranges = 4})
              .shuffle_buffer(50)
              .batch(8, {.lanes = 4, .end = epoch_end::mask}),
          tar_stream(at + "{0..1}.tar.gz")
              .shuffle_buffer(10)
              .batch(4, {.lanes = 2, .end = epoch_end::mask})};
}

/// The batches of `far` are those of files in `dir`.
void check_pipelines(const temporary_directory& dir, const std::string& far) {
  const auto near = pipelines_at(dir.path() + "/", dir / "index");
  const auto remote = pipelines_at(far, dir / "index");
  for (std::size_t i = 0; i < near.size(); ++i) {
    CAPTURE(i);
    const auto want = job_of(near[i], 0);
    REQUIRE(want.size() > 2);
    for (const std::size_t workers : {0, 1, 3})
      CHECK(job_of(remote[i], workers) == want);
  }
}

TEST_CASE("web sources: pipelines with addresses hand over the batches of those with paths") {
  std::mt19937_64 random{4};
  const temporary_directory dir;
  write_data(dir, random);
  const fault_server server{
      dir.path(),
      random_faults(9, 25, {fault::cut, fault::shortened, fault::shifted, fault::reset})};
  check_pipelines(dir, server.address() + "/");
  CHECK(server.faults() > 5);
}

TEST_CASE("web sources: pipelines over a bucket hand over the batches of those with paths") {
  std::mt19937_64 random{5};
  const temporary_directory dir;
  const temporary_directory buckets;
  write_data(dir, random);
  std::filesystem::create_directory_symlink(dir.path(), buckets / "bucket");
  fault_server server{
      buckets.path(),
      random_faults(11, 25, {fault::cut, fault::shortened, fault::shifted, fault::reset})};
  server.service = s3_service{.folder = buckets.path(), .owner = {"AK", secret{"SK"}, secret{}}};
  const std::map<std::string, std::string> variables{{"AWS_ENDPOINT_URL", server.address()},
                                                     {"AWS_ACCESS_KEY_ID", "AK"},
                                                     {"AWS_SECRET_ACCESS_KEY", "SK"}};
  for (const auto& [name, value] : variables)
    ::setenv(name.c_str(), value.c_str(), 1);
  check_pipelines(dir, "s3://bucket/");
  const batch_options whole{.lanes = 2, .end = epoch_end::mask};
  CHECK(job_of(lines("s3://bucket/*.txt").batch(8, whole), 1)
        == job_of(lines(dir / "*.txt").batch(8, whole), 0));
  for (const auto& [name, value] : variables)
    ::unsetenv(name.c_str());
  CHECK(server.faults() > 5);
}

/// Classes: with folders below them, more entries than a page of a list has, names that lists
/// encode, hidden entries, and files that are no images.
void write_classes(const std::filesystem::path& dir, std::mt19937_64& random) {
  for (const std::string folder : {"b", "b/deep/er", "a", "\xc3\xbc + x", ".git", "__MACOSX/a"}) {
    std::filesystem::create_directories(dir / folder);
    for (const std::string name : {"1.jpg", "2.JPEG", "10.png", "a b+c.webp", "._1.jpg", "notes"})
      write_content(dir / folder / name, random_bytes(random, 1 + random() % 5000));
  }
  write_content(dir / "1.jpg", "no class's");
}

TEST_CASE("web sources: folders of a bucket are the classes that folders of a disk are") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random{seed};
    const temporary_directory buckets;
    const auto dir = buckets / "bucket/train";
    write_classes(dir, random);
    fault_server server{
        buckets.path(),
        random_faults(seed, 12, {fault::cut, fault::shortened, fault::shifted, fault::reset})};
    server.service = s3_service{
        .folder = buckets.path(), .owner = {"AK", secret{"SK"}, secret{}}, .names_per_page = 2};
    remote_options how;
    how.endpoint = server.address();
    how.access_key = "AK";
    how.secret_key = secret{"SK"};
    const auto near = image_folder(dir, {.index_dir = buckets / "index"});
    const auto far =
        image_folder("s3://bucket/train", {.index_dir = buckets / "index", .remote = how});
    const auto want = source_of(near).facts();
    const auto got = source_of(far).facts();
    CHECK(got.digest == want.digest);
    CHECK(got.records == 16);
    CHECK(got.records == want.records);
    CHECK(got.bytes == want.bytes);
    CHECK(read_all(source_of(far)) == read_all(source_of(near)));
    const auto in_batches = [](const pipeline& x) {
      return x.shuffle({.seed = 7}).batch(4, {.lanes = 2, .end = epoch_end::mask});
    };
    const auto batches = job_of(in_batches(near), 0);
    REQUIRE(batches.size() == 8);
    for (const std::size_t workers : {0, 2})
      CHECK(job_of(in_batches(far), workers) == batches);
    // A bucket has no empty folder, so one that moves the numbers of others makes other data.
    std::filesystem::create_directories(dir + "/\xc3\xbe"); // the last one
    CHECK(source_of(image_folder(dir)).facts().digest == want.digest);
    std::filesystem::create_directories(dir + "/aa");
    CHECK(source_of(image_folder(dir)).facts().digest != want.digest);
  }
}

TEST_CASE("web sources: indexes are written to no server") {
  check_error([] { (void)tar_shards("x.tar", {.index_dir = "s3://b/i"}); },
              {.code = errc::invalid_argument,
               .file = "s3://b/i",
               .got = "a place on a server, and shards of this machine"});
  check_error([] { (void)image_folder("x", {.index_dir = "s3://b/i"}); },
              {.code = errc::invalid_argument, .file = "s3://b/i", .got = "an address"});
}

} // namespace
} // namespace leat::web_sources_test
