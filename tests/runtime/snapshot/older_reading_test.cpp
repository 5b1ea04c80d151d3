// Snapshots that were saved when data was read by older rules.

#include "runtime/base/xxh3.hpp"
#include "runtime/pipeline/pipeline_facts.hpp"
#include "runtime/snapshot/snapshot.hpp"
#include "tests/support/operator_facts.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

namespace leat::older_reading_test {

using namespace leat::test;

namespace {

namespace fs = std::filesystem;

void save(const std::string& path, const std::string& bytes) {
  fs::create_directories(fs::path{path}.parent_path());
  tar_writer::write(path, bytes);
}

/// The differences of a snapshot with these facts, taken in the middle of an epoch.
std::vector<difference> differences(const pipeline_facts& before, const pipeline_facts& now) {
  snapshot taken;
  taken.pipeline = before;
  taken.step = 1;
  return compare(taken, now);
}

void check_refused(const pipeline_facts& before, const pipeline_facts& now, const std::string& name,
                   bool can_allow = false) {
  CHECK(differences(now, now).empty());
  const auto found = differences(before, now);
  REQUIRE(found.size() == 1);
  CHECK(found[0].name == name);
  CHECK(found[0].can_allow == can_allow);
}

} // namespace

TEST_CASE("an older snapshot of a class folder is refused where labels or records move") {
  const temporary_directory dir;
  save(dir / "cat/0.jpg", "cat");
  save(dir / "dog/0.jpg", "a dog");
  const auto facts = [&] { return describe(image_folder(dir.path()).batch(1), 1); };
  const auto clean = facts();
  save(dir / "cat/@eaDir/x.txt", "");
  save(dir / ".git/x", "");
  CHECK(differences(clean, facts()).empty());

  SECTION("an image was hidden") {
    save(dir / "cat/._0.jpg", "x");
    auto older = facts();
    auto& data = stage_of(older, "image_folder").data.value();
    data.records += 1;
    data.bytes += 1;
    check_refused(older, facts(), "records");
  }
  SECTION("a hidden folder without an image had the number of a class") {
    save(dir / "__MACOSX/._cat", "x");
    // Only the images were hashed, and they are the same.
    check_refused(clean, facts(), "names");
  }
}

TEST_CASE("an older snapshot of tar shards is refused where records were hidden") {
  const temporary_directory dir;
  tar_writer tar;
  tar.file("a.txt", "1").file("__MACOSX/a.txt", "2").file("a.cls", "3").end();
  tar.save(dir / "x.tar");
  const auto now = describe(tar_shards(dir / "x.tar", {.index_dir = dir / "i"}).batch(1), 1);
  auto older = now;
  auto& data = stage_of(older, "tar_shards").data.value();
  REQUIRE(data.records == 1);
  data.records = 3;
  hash_stream hash;
  hash.add("x.tar");
  hash.add(data.bytes);
  hash.add(data.records);
  data.digest = hash.digest128();
  check_refused(older, now, "records");
}

TEST_CASE("an older snapshot of what reads in sequence is refused, unless reading may differ") {
  const temporary_directory dir;
  tar_writer{}.file("a.txt", "x.tar").end().save(dir / "x.tar");
  const auto stream = tar_stream(dir / "x.tar");
  const auto check = [](const pipeline& x, const char* op) {
    const auto now = describe(x.batch(1), 1);
    auto older = now;
    stage_of(older, op).reading_version = 0;
    check_refused(older, now, "reading", true);
  };
  check(stream, "tar_stream");
  check(stream.read_files(file_format::tar, {.field = "txt", .folder = dir.path()}), "read_files");
  tar_writer::write(dir / "x.jsonl", "{}\n");
  check(json_lines(dir / "x.jsonl"), "json_lines");
}

} // namespace leat::older_reading_test
