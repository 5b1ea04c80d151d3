#include "runtime/image/jpeg/row_places.hpp"
#include "runtime/image/jpeg/work_places.hpp"
#include "runtime/sample/sample_access.hpp"
#include "runtime/sample/source_access.hpp"
#include "runtime/sources/index_sections.hpp"
#include "runtime/sources/indexed_places.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/other_program.hpp"
#include "tests/support/photo_data.hpp"

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace leat::indexed_places_test {

using namespace leat::test;

namespace {

/// The same index with other sections than those that it has: as earlier versions made it, or with
/// one that nobody knows.
void remake(const std::string& path, bool with_work, bool with_unknown = false) {
  const auto content = read_file(path);
  hash128 subject;
  std::memcpy(&subject, content.data() + 16, sizeof subject);
  const auto old = index_sections::load(path, subject).value();
  index_writer to{subject};
  for (const auto* name : {"fields", "headers", "records", "names", "text", "others", "tear",
                           "apart", "row-ends", "work-end"})
    if (old.has(name) && (with_work || name != std::string{"work-end"}))
      to.hold(name, old.held(name).value());
  if (with_unknown)
    to.hold("unknown", std::string_view{"new"});
  for (const auto* name : {"rows", "work"}) {
    const auto tail = old.at_use(name);
    std::vector<std::vector<std::byte>> pieces(1, std::vector<std::byte>(tail.size()));
    REQUIRE(tail.read(0, pieces[0]));
    if (with_work || name != std::string{"work"})
      to.leave(name, pieces);
  }
  REQUIRE(store_index({path}, std::move(to).finish()));
}

struct found_places {
  std::size_t rows = 0;
  std::size_t work = 0;
  bool are_read = false;
};

/// The places that come with a record's field, and whether they are those of its file.
found_places places_of(const source& data, std::uint64_t record, std::string_view field = "jpg") {
  sample x;
  sample_access::reset(x, nullptr);
  data.read(record, x);
  found_places found;
  std::vector<scan_place> rows;
  std::vector<work_place> work;
  const auto row_bytes = source_access::places(x, field);
  found.rows = row_bytes.size();
  found.are_read = read_row_places(row_bytes, x.bytes(field), rows);
  const auto work_bytes = source_access::places(x, field, place_kind::work);
  found.work = work_bytes.size();
  found.are_read = read_work_places(work_bytes, x.bytes(field), work) && found.are_read;
  return found;
}

/// Builds indexes, makes the first one older, and has it completed. `images`: how many have places;
/// `record`: one that the first index knows.
template <class Data>
void check_completed(const Data& x, std::uint64_t images, std::uint64_t record) {
  const auto facts = x.build();
  CHECK(facts.completed == 0);
  CHECK(facts.work_bytes > 0);
  CHECK(facts.indexed == images);
  const auto indexes = x.indexes();
  std::vector<std::string> before;
  for (const auto& path : indexes)
    before.push_back(read_file(path));
  remake(indexes[0], false);
  CHECK(places_of(*x.data(), record).rows > 0);
  CHECK(places_of(*x.data(), record).work == 0);
  auto again = x.build();
  CHECK(again.completed == 1);
  CHECK(again.bytes_read > 0);
  CHECK(again.bytes_read < facts.bytes_read);
  again.completed = 0;
  again.bytes_read = facts.bytes_read;
  CHECK(again == facts);
  for (std::size_t i = 0; i < indexes.size(); ++i)
    CHECK((read_file(indexes[i]) == before[i]));
  CHECK(x.build().bytes_read == 0);
}

/// Has the first index complete in the cache, and an older one beside its data. `record`: one that
/// it knows.
template <class Data>
void check_cache(Data& x, const std::string& data, std::uint64_t record) {
  x.build();
  const auto content = read_file(x.indexes()[0]);
  const auto bytes = std::as_bytes(std::span{content});
  REQUIRE(::setenv("XDG_CACHE_HOME", (x.dir / "cache").c_str(), 1) == 0);
  x.options.index_dir.clear();
  const auto paths = index_paths(data, {});
  REQUIRE(paths.size() == 2);
  REQUIRE(store_index({paths[0]}, bytes));
  remake(paths[0], false);
  CHECK(places_of(*x.data(), record).rows > 0);
  CHECK(places_of(*x.data(), record).work == 0);
  REQUIRE(store_index({paths[1]}, bytes));
  CHECK(places_of(*x.data(), record).are_read);
}

} // namespace

TEST_CASE("places by work come with images of shards, in a pass with the row index") {
  photo_shards x;
  CHECK(places_of(*x.data(), 0).work == 0);
  x.build();
  const auto data = x.data();
  const auto found = places_of(*data, 0);
  CHECK(found.are_read);
  CHECK(found.rows == 16 + 10 * 13 * 2);
  CHECK(found.work >= 16 + 10 * 13U);
  CHECK(found.work % 10 == 6);
  CHECK(places_of(*data, 0, "cls").work == 0);
  CHECK(places_of(*data, 1).work == 0); // restart markers
  CHECK(places_of(*data, 2).work == 0); // damaged
  CHECK(places_of(*data, 3, "jpeg").are_read);
  CHECK(places_of(*data, 13, "jpeg").are_read); // of the last shard
}

TEST_CASE("an index of shards without places by work is used, and completed") {
  check_completed(photo_shards{}, 6, 0);
}

TEST_CASE("an index of a folder without places by work is used, and completed") {
  const photo_folder x;
  check_completed(x, 4, 3);
  CHECK(places_of(*x.data(), 0).are_read);
  CHECK(places_of(*x.data(), 5).are_read);
}

TEST_CASE("an index with a section that nobody knows is used as it is") {
  const photo_shards x;
  x.build();
  remake(x.indexes()[0], true, true);
  CHECK(places_of(*x.data(), 0).are_read);
  CHECK(x.build().bytes_read == 0);
}

TEST_CASE("a complete index in the cache is used if one without places by work stands beside the "
          "data") {
  photo_shards shards;
  check_cache(shards, shards.shards[0], 0);
  photo_folder folder;
  check_cache(folder, folder.path + "/a", 3);
}

TEST_CASE("places are lent with a field, outlive a record's own bytes, and go when it is set") {
  photo_shards x;
  x.build();
  const auto data = x.data();
  sample from;
  sample_access::reset(from, nullptr);
  data->read(0, from);
  sample to;
  sample_access::reset(to, nullptr);
  sample_access::lend(from, to);
  sample_access::own(to);
  data->read(3, from);
  const auto places = source_access::places(to, "jpg", place_kind::work);
  std::vector<work_place> work;
  CHECK(read_work_places(places, to.bytes("jpg"), work));
  CHECK(source_access::places(to, "cls", place_kind::work).empty());
  to.set("jpg", "other bytes");
  CHECK(source_access::places(to, "jpg", place_kind::work).empty());
}

TEST_CASE("damaged places by work are found, and made again") {
  photo_folder x;
  x.build();
  const auto path = x.indexes()[0];
  auto content = read_file(path);
  content[content.size() - 20] ^= 4;
  const auto before = places_of(*x.data(), 5);
  CHECK(before.are_read);
  REQUIRE(store_index({path}, std::as_bytes(std::span{content})));
  const auto damaged = places_of(*x.data(), 5);
  CHECK(damaged.work == before.work);
  CHECK_FALSE(damaged.are_read);
  const auto facts = x.build();
  CHECK(facts.bytes_read > 0);
  CHECK(facts.completed == 0);
  CHECK(places_of(*x.data(), 5).are_read);
}

} // namespace leat::indexed_places_test
