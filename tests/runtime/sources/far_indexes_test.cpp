// Indexes of shards in a bucket: put there, found again by machines that have none, and passed over
// where they are of other shards.

#include "runtime/sources/tar/far_indexes.hpp"
#include "runtime/sources/tar/tar_source.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/files.hpp"
#include "tests/support/heard_notices.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/photo_data.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/s3_service.hpp"
#include "tests/support/source_reading.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/leat.hpp>
#include <leat/row_index.hpp>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <random>

namespace leat::far_indexes_test {
namespace {

namespace fs = std::filesystem;
using namespace leat::test;

/// The user's cache directory, as on a machine that has never seen the data.
class new_machine {
public:
  new_machine() {
    if (const char* was = std::getenv("XDG_CACHE_HOME"))
      before_ = was;
    ::setenv("XDG_CACHE_HOME", dir_.path().c_str(), 1);
  }
  ~new_machine() {
    if (before_.empty())
      ::unsetenv("XDG_CACHE_HOME");
    else
      ::setenv("XDG_CACHE_HOME", before_.c_str(), 1);
  }
  new_machine(const new_machine&) = delete;
  new_machine& operator=(const new_machine&) = delete;

private:
  temporary_directory dir_;
  std::string before_;
};

/// Bytes that were asked for, by the names of objects.
class request_log {
public:
  fault_server::choice listener() {
    return [this](const fault_server::request& x) {
      if (takes_no_manifest && x.method == "PUT" && x.path.ends_with(".leat-manifest"))
        return fault::forbidden;
      if (x.headers.contains("X-Planted"))
        has_planted_header = true;
      const std::lock_guard lock{mutex_};
      if (x.method == "GET" && x.target.find('?') == std::string::npos) {
        bytes_[x.path] += x.end - x.begin;
        ++requests_;
      }
      return fault::none;
    };
  }
  void clear() {
    const std::lock_guard lock{mutex_};
    bytes_.clear();
    requests_ = 0;
  }
  std::uint64_t bytes_of(const std::string& path) {
    const std::lock_guard lock{mutex_};
    return bytes_[path];
  }
  int requests() {
    const std::lock_guard lock{mutex_};
    return requests_;
  }

  std::atomic<bool> takes_no_manifest{false};
  std::atomic<bool> has_planted_header{false};

private:
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> bytes_;
  int requests_ = 0;
};

/// A bucket "b" that anybody may read and write, with shards in a folder of it.
struct shards_in_bucket {
  explicit shards_in_bucket(std::uint64_t seed = 1, int shards = 3) : random{seed} {
    for (int i = 0; i < shards; ++i)
      write(i, 5 + random() % 40);
    server.service = s3_service{.folder = dir.path(), .open_buckets = {"b"}};
  }

  void write(int shard, std::uint64_t records) {
    tar_writer tar;
    for (std::uint64_t i = 0; i < records; ++i)
      tar.file("k" + std::to_string(i) + ".bin", random_bytes(random, random() % 3000))
          .file("k" + std::to_string(i) + ".cls", std::to_string(i));
    fs::create_directories(dir / "b/train");
    tar.end().save(path(shard));
  }
  std::string path(int shard) const { return dir / ("b/train/" + std::to_string(shard) + ".tar"); }

  remote_options remote() const { return {.endpoint = server.address(), .anonymous = true}; }
  pipeline far(const std::string& index_dir = {}) const {
    return tar_shards("s3://b/train/*.tar", {.index_dir = index_dir, .remote = remote()});
  }
  std::shared_ptr<const stored_source> open_far(const std::string& index_dir = {}) const {
    const store_set in{remote()};
    return open_tar_source(find_files({"s3://b/train/*.tar"}, "test", file_kinds::plain, in),
                           {.index_dir = index_dir}, in);
  }
  std::shared_ptr<const stored_source> open_near() const {
    return open_tar_source(find_files({dir / "b/train/*.tar"}, "test"),
                           {.index_dir = dir / "near"});
  }
  void check_same(const stored_source& far) const {
    const auto near = open_near();
    CHECK(far.facts().digest == near->facts().digest);
    CHECK(read_all(far) == read_all(*near));
  }
  /// Opens them with this manifest, and checks them. Returns the notices about it.
  std::vector<std::string> told_by(const std::string& manifest) const {
    for (const auto& name : names_in(dir / "b/train"))
      if (name.ends_with(".leat-index"))
        fs::remove(dir / ("b/train/" + name));
    const new_machine other;
    std::vector<std::string> told;
    heard_notices heard;
    check_same(
        *open_tar_source(find_files({dir / "b/train/*.tar"}, "test"), {.index_dir = manifest}));
    for (auto& x : heard.texts())
      if (x.find(manifest) != std::string::npos)
        told.push_back(std::move(x));
    return told;
  }
  bool reads_through(int shard) {
    return log.bytes_of("b/train/" + std::to_string(shard) + ".tar")
           > fs::file_size(path(shard)) / 2;
  }

  std::mt19937_64 random;
  temporary_directory dir;
  request_log log;
  fault_server server{dir.path(), log.listener()};
};

TEST_CASE("far_indexes: with a manifest, a data set is opened by a handful of requests") {
  shards_in_bucket x{1, 20};
  {
    const new_machine first;
    const auto facts = put_indexes(x.far(), "s3://b/all.leat-manifest");
    CHECK(facts.manifest == "s3://b/all.leat-manifest");
    CHECK(facts.shards == 20);
    CHECK(facts.index_bytes == 0);
    CHECK(facts.manifest_bytes == fs::file_size(x.dir / "b/all.leat-manifest"));
  }
  CHECK_FALSE(fs::exists(x.dir / "b/train/0.tar.leat-index"));
  const new_machine second;
  x.log.clear();
  const auto far = x.open_far("s3://b/all.leat-manifest");
  CHECK(x.log.requests() <= 4);
  for (int i = 0; i < 20; ++i)
    CHECK(x.log.bytes_of("b/train/" + std::to_string(i) + ".tar") == 0);
  x.check_same(*far);
}

TEST_CASE("far_indexes: those beside shards, and those of a directory, are found without reading") {
  shards_in_bucket x;
  {
    const new_machine first;
    CHECK(put_indexes(x.far(), "s3://b/train/").index_bytes > 0);
    (void)put_indexes(x.far(), "s3://b/indexes");
  }
  CHECK(fs::exists(x.dir / "b/train/2.tar.leat-index"));
  CHECK(names_in(x.dir / "b/indexes").size() == 4);
  for (const char* place : {"", "s3://b/indexes", "s3://b/indexes/", "s3://b/nothing"}) {
    CAPTURE(place);
    const new_machine other;
    x.log.clear();
    const auto far = x.open_far(place);
    for (int i = 0; i < 3; ++i)
      CHECK_FALSE(x.reads_through(i));
    x.check_same(*far);
    // What was fetched is kept: the next job asks for versions alone.
    x.log.clear();
    (void)x.open_far(place);
    CHECK(x.log.requests() == 3);
  }
  for (int i = 0; i < 3; ++i)
    fs::remove(x.path(i) + ".leat-index");
  const new_machine last;
  x.log.clear();
  const auto far = x.open_far("s3://b/indexes");
  for (int i = 0; i < 3; ++i)
    CHECK_FALSE(x.reads_through(i));
  x.check_same(*far);
}

TEST_CASE("far_indexes: a machine's own directory does not hide what lies beside the shards") {
  shards_in_bucket x;
  {
    const new_machine first;
    (void)put_indexes(x.far(), "s3://b/train");
  }
  const new_machine other;
  x.log.clear();
  x.check_same(*x.open_far(x.dir / "own"));
  CHECK(names_in(x.dir / "own").size() == 3);
}

TEST_CASE("far_indexes: an index of another version is passed over, and made anew") {
  shards_in_bucket x;
  {
    const new_machine first;
    (void)put_indexes(x.far(), "s3://b/train");
  }
  SECTION("another shard of the same name") {
    x.write(1, 77);
    const shards_in_bucket* same = &x;
    // A server that has not kept the shard.
    fault_server again{x.dir.path(), x.log.listener()};
    again.service = s3_service{.folder = x.dir.path(), .open_buckets = {"b"}};
    const store_set in{remote_options{.endpoint = again.address(), .anonymous = true}};
    const new_machine other;
    x.log.clear();
    const auto far =
        open_tar_source(find_files({"s3://b/train/*.tar"}, "test", file_kinds::plain, in), {}, in);
    same->check_same(*far);
    CHECK(x.reads_through(1));
  }
  SECTION("the same bytes under another ETag") {
    x.server.change();
    const new_machine other;
    x.log.clear();
    const auto far = x.open_far();
    x.check_same(*far);
    CHECK(x.reads_through(0));
  }
}

TEST_CASE("far_indexes: a shard that was replaced after its manifest was made ends the job") {
  shards_in_bucket x;
  const new_machine machine;
  (void)put_indexes(x.far(), "s3://b/all.leat-manifest");
  x.server.change();
  const new_machine other;
  const auto far = x.open_far("s3://b/all.leat-manifest"); // asks for no shard
  sample into;
  for (const char* part : {"-1\"", "leat index --out"})
    check_error([&] { read_one(*far, 0, into); },
                {.code = errc::io, .file = "s3://b/train/0.tar", .needed_has = part});
}

TEST_CASE("far_indexes: a new manifest is of the versions that servers have, not of an old one's") {
  shards_in_bucket x;
  const std::string manifest = "s3://b/all.leat-manifest";
  const new_machine machine;
  (void)put_indexes(x.far(), manifest);
  x.server.change();
  (void)put_indexes(x.far(manifest), manifest);
  const new_machine other;
  x.check_same(*x.open_far(manifest));
}

TEST_CASE("far_indexes: a notice says how many shards a manifest does not serve, and why") {
  shards_in_bucket x;
  const auto manifest = x.dir / "all.leat-manifest";
  {
    const new_machine first;
    (void)put_indexes(tar_shards(x.dir / "b/train/*.tar"), manifest);
  }
  CHECK(x.told_by(manifest).empty());
  std::string reason;
  SECTION("shards that it does not name") {
    x.write(3, 9);
    reason = "1 shard (" + x.path(3) + ", which it does not name)";
  }
  SECTION("a shard of another time") {
    fs::last_write_time(x.path(1), fs::last_write_time(x.path(1)) + std::chrono::hours{1});
    reason = "1 shard (" + x.path(1) + ", of which it has another version)";
  }
  SECTION("a flipped bit in an index") {
    auto bytes = content_of(manifest);
    bytes[bytes.size() - 20] = static_cast<char>(bytes[bytes.size() - 20] ^ 4);
    write_content(manifest, bytes);
    reason = "1 shard (" + x.path(2) + ", whose index in it is damaged)";
  }
  const auto told = x.told_by(manifest);
  REQUIRE(told.size() == 1);
  CAPTURE(told[0], reason);
  CHECK(told[0].find(reason) != std::string::npos);
}

TEST_CASE("far_indexes: what a manifest says of versions gets into no header but its own") {
  shards_in_bucket x;
  const std::vector<manifest_shard> forged{{.name = "train/0.tar",
                                            .version = {.size = fs::file_size(x.path(0)),
                                                        .mtime_ns = object_version::no_time,
                                                        .tag = "\"x\"\r\nX-Planted: 1\r\nX: \""},
                                            .records = 1,
                                            .index = std::vector<std::byte>(24)}};
  const auto bytes = write_manifest(forged, "test");
  write_content(x.dir / "b/all.leat-manifest",
                {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const new_machine machine;
  x.check_same(*x.open_far("s3://b/all.leat-manifest"));
  CHECK_FALSE(x.log.has_planted_header);
}

TEST_CASE("far_indexes: a manifest that cannot be put leaves the one before it, and the indexes") {
  shards_in_bucket x;
  const auto refused = [&] {
    x.log.takes_no_manifest = true;
    const new_machine machine;
    check_error([&] { (void)put_indexes(x.far(), "s3://b/train"); },
                {.code = errc::io, .file = "s3://b/train/data.leat-manifest", .stage = "put"});
    x.log.takes_no_manifest = false;
  };
  const auto opens = [&](const std::string& place) {
    const new_machine other;
    x.log.clear();
    x.check_same(*x.open_far(place));
    for (int i = 0; i < 3; ++i)
      CHECK((x.log.bytes_of("b/train/" + std::to_string(i) + ".tar.leat-index") > 0)
            == place.empty());
  };
  refused();
  CHECK_FALSE(fs::exists(x.dir / "b/train/data.leat-manifest"));
  opens({});
  {
    const new_machine machine;
    (void)put_indexes(x.far(), "s3://b/train");
  }
  const auto before = content_of(x.dir / "b/train/data.leat-manifest");
  refused();
  CHECK(content_of(x.dir / "b/train/data.leat-manifest") == before);
  opens("s3://b/train/data.leat-manifest");
}

TEST_CASE("far_indexes: shards with images are read once for all of their indexes") {
  shards_in_bucket x;
  for (int shard = 0; shard < 3; ++shard) {
    tar_writer tar;
    for (int i = 0; i < 12; ++i)
      tar.file("k" + std::to_string(i) + ".jpg", text_of(write_jpeg(64 + 40 * i, 400)))
          .file("k" + std::to_string(i) + ".cls", std::to_string(i))
          .file("k" + std::to_string(i) + ".bin", random_bytes(x.random, x.random() % 30'000))
          .file("README", "no record's");
    tar.end().save(x.path(shard));
  }
  const new_machine first;
  const auto near =
      build_row_index(tar_shards(x.dir / "b/train/*.tar", {.index_dir = x.dir / "near"}));
  const auto far = build_row_index(x.far());
  REQUIRE(far);
  CHECK(far == near);
  CHECK(far->indexed == 36);
  for (int i = 0; i < 3; ++i) // on a busy machine, some requests may be sent a second time
    CHECK(x.log.bytes_of("b/train/" + std::to_string(i) + ".tar")
          < fs::file_size(x.path(i)) * 3 / 2);
  x.log.clear();
  CHECK(build_row_index(x.far())->bytes_read == 0);
  for (int i = 0; i < 3; ++i)
    CHECK(x.log.bytes_of("b/train/" + std::to_string(i) + ".tar") <= 2); // its version
  x.check_same(*x.open_far());
}

TEST_CASE("far_indexes: a torn shard has the rows of what its index has, near and far") {
  shards_in_bucket x{1, 1};
  tar_writer tar;
  for (int i = 0; i < 4; ++i)
    tar.file("k" + std::to_string(i) + ".jpg", text_of(write_jpeg(200 + 40 * i, 300)))
        .file("k" + std::to_string(i) + ".bin", random_bytes(x.random, 20'000));
  tar.end().save(x.path(0));
  fs::resize_file(x.path(0), fs::file_size(x.path(0)) - 12'000); // within the last record
  const new_machine first;
  const auto near = build_row_index(
      tar_shards(x.dir / "b/train/*.tar", {.index_dir = x.dir / "near", .allow_torn = true}));
  const auto far =
      build_row_index(tar_shards("s3://b/train/*.tar", {.allow_torn = true, .remote = x.remote()}));
  REQUIRE(far);
  CHECK(far->indexed == 3);
  CHECK(far == near);
}

TEST_CASE("far_indexes: rows that were found by one machine are not looked for by the next") {
  shards_in_bucket x;
  row_index_facts found;
  {
    const new_machine first;
    found = build_row_index(x.far()).value();
    CHECK(found.bytes_read > 0);
    (void)put_indexes(x.far(), "s3://b/indexes");
  }
  const new_machine other;
  x.log.clear();
  const auto again = build_row_index(x.far("s3://b/indexes")).value();
  CHECK(again.bytes_read == 0);
  CHECK(again.images == found.images);
  for (int i = 0; i < 3; ++i)
    CHECK_FALSE(x.reads_through(i));
}

TEST_CASE(
    "far_indexes: shards that a manifest does not have, or has damaged, are found elsewhere") {
  shards_in_bucket x;
  {
    const new_machine first;
    (void)put_indexes(x.far(), "s3://b/all.leat-manifest");
  }
  SECTION("one more shard") {
    x.write(3, 9);
  }
  SECTION("a flipped bit in an index") {
    auto bytes = content_of(x.dir / "b/all.leat-manifest");
    bytes[bytes.size() - 20] = static_cast<char>(bytes[bytes.size() - 20] ^ 4);
    write_content(x.dir / "b/all.leat-manifest", bytes);
  }
  fault_server again{x.dir.path()};
  again.service = s3_service{.folder = x.dir.path(), .open_buckets = {"b"}};
  const store_set in{remote_options{.endpoint = again.address(), .anonymous = true}};
  const new_machine other;
  x.check_same(*open_tar_source(find_files({"s3://b/train/*.tar"}, "test", file_kinds::plain, in),
                                {.index_dir = "s3://b/all.leat-manifest"}, in));
}

TEST_CASE("far_indexes: what is no manifest, is torn, or is not there, is an error") {
  const shards_in_bucket x;
  {
    const new_machine first;
    (void)put_indexes(x.far(), "s3://b/all.leat-manifest");
  }
  const auto whole = content_of(x.dir / "b/all.leat-manifest");
  const new_machine other;
  for (const auto& content : {std::string{"x"}, std::string(5000, 'x'), whole.substr(0, 30),
                              whole.substr(0, 200), whole.substr(0, whole.size() - 1)}) {
    CAPTURE(content.size());
    const auto name = "torn" + std::to_string(content.size()) + ".leat-manifest";
    write_content(x.dir / ("b/" + name), content);
    check_error([&] { (void)x.open_far("s3://b/" + name); }, {.code = errc::torn_file,
                                                              .file = "s3://b/" + name,
                                                              .stage = "manifest",
                                                              .needed_has = "leat index --out"});
  }
  const auto large = x.dir / "large.leat-manifest";
  write_content(large, whole);
  fs::resize_file(large, most_put_bytes + 8); // no block of a disk is behind that
  check_error([&] { (void)x.open_far(large); },
              {.code = errc::torn_file, .file = large, .got_has = "more than a manifest has"});
  check_error([&] { (void)x.open_far("s3://b/none.leat-manifest"); },
              {.code = errc::not_found, .file = "s3://b/none.leat-manifest"});
}

TEST_CASE("far_indexes: manifests of files of this machine, and of a bucket on this machine") {
  const shards_in_bucket x;
  const auto manifest = x.dir / "b/train/data.leat-manifest";
  {
    const new_machine first;
    const auto near = tar_shards(x.dir / "b/train/*.tar");
    CHECK(put_indexes(near, x.dir / "b/train").manifest == manifest);
    x.check_same(
        *open_tar_source(find_files({x.dir / "b/train/*.tar"}, "test"), {.index_dir = manifest}));
    CHECK(put_indexes(x.far(), x.dir / "far").shards == 3);
  }
  CHECK(names_in(x.dir / "far").size() == 4);
  const new_machine other;
  x.check_same(*x.open_far(x.dir / "far/data.leat-manifest"));
  x.check_same(*x.open_far(x.dir / "far"));
}

TEST_CASE("far_indexes: data of any shape has the digest and records of its files") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    shards_in_bucket x{seed, static_cast<int>(1 + seed % 5)};
    {
      const new_machine first;
      (void)put_indexes(x.far(), seed % 2 == 0 ? "s3://b/train" : "s3://b/a/b");
    }
    const auto folder = std::string{seed % 2 == 0 ? "s3://b/train" : "s3://b/a/b"};
    for (const auto& place : {std::string{}, folder, folder + "/data.leat-manifest"}) {
      CAPTURE(place);
      const new_machine other;
      x.check_same(*x.open_far(place));
    }
  }
}

TEST_CASE("far_indexes: what cannot be stored is refused before any data is read") {
  shards_in_bucket x;
  x.log.clear();
  const auto refused = [&](const pipeline& data, const std::string& out,
                           const std::string& needed) {
    CAPTURE(out);
    for (const auto call : {&check_put_indexes, +[](const pipeline&of, const std::string&to) {
                              (void)put_indexes(of, to);
                            }})
      check_error([&] { call(data, out); }, {.code = errc::invalid_argument, .needed_has = needed});
  };
  for (const char* out : {"https://h.example/x", "hf://datasets/a/b/x", "ftp://h/x", ""})
    refused(x.far(), out, *out ? "s3://" : "folder");
  refused(tar_shards(x.dir / "b/train/*.tar"), "s3://b/x", "addresses");
  refused(count(5), x.dir / "x", "tar_shards");
  refused(mix({x.far(), x.far()}), x.dir / "x", "tar_shards");
  check_error([&] { (void)tar_shards("x.tar", {.index_dir = "ftp://h/x"}); },
              {.code = errc::invalid_argument});
  for (const char* place : {"s3://b/x", "s3://b/x.leat-manifest", "https://h.example/x"})
    check_error([&] { (void)tar_shards("x.tar", {.index_dir = place}); },
                {.code = errc::invalid_argument,
                 .file = place,
                 .stage = "tar_shards",
                 .needed_has = "of this machine"});
  check_error([&] { (void)image_folder("x", {.index_dir = "s3://b/x"}); },
              {.code = errc::invalid_argument});
  CHECK(x.log.requests() == 0);
}

} // namespace
} // namespace leat::far_indexes_test
