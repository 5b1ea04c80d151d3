#include "runtime/image_reader.hpp"
#include "runtime/jpeg/row_places.hpp"
#include "runtime/row_index.hpp"
#include "runtime/sample_access.hpp"
#include "runtime/stage.hpp"
#include "runtime/tar_index.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/image.hpp>
#include <leat/source.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace leat;
using namespace leat::test;

namespace {

std::string text_of(const std::vector<std::byte>& x) {
  return {reinterpret_cast<const char*>(x.data()), x.size()};
}

/// Three shards of JPEGs and other things; the second image of each has restart markers, the third
/// is damaged.
struct photo_shards {
  temporary_directory dir;
  tar_options options{.index_dir = dir / "index"};
  std::vector<std::string> shards;

  photo_shards() {
    for (std::uint32_t i = 0; i < 3; ++i) {
      shards.push_back(dir / ("s" + std::to_string(i) + ".tar"));
      auto torn = write_jpeg(120, 90, {}, 7 + i);
      torn[torn.size() / 2] = std::byte{0xFF};
      torn[torn.size() / 2 + 1] = std::byte{0xD9};
      tar_writer tar;
      tar.file("a.jpg", text_of(write_jpeg(300 + i, 200, {.horizontal = 2, .vertical = 2}, i)))
          .file("a.cls", "1")
          .file("b.jpg", text_of(write_jpeg(64, 64, {.restart = 3}, i)))
          .file("b.cls", "2")
          .file("c.jpg", text_of(torn))
          .file("d.jpeg", text_of(write_jpeg(500, 40, {}, i)))
          .file("e.png", "no picture");
      tar.end().save(shards.back());
    }
  }

  pipeline data() const { return tar_shards(shards, options); }
};

/// Bytes of the places that come with a record's field.
std::size_t places_of(const source& data, std::uint64_t record, std::string_view field) {
  sample x;
  sample_access::reset(x, nullptr);
  data.read(record, x);
  return sample_access::places(x, field).size();
}

/// Pixels of a record through the map, and whether it is good.
std::pair<bool, std::vector<std::byte>> pixels_of(const source& data, std::uint64_t record) {
  sample x;
  sample_access::reset(x, nullptr);
  data.read(record, x);
  context in{rng(1, record), 0, record, 1, nullptr};
  try {
    train_image("jpg;jpeg", {.size = 48}).make()(x, in);
  } catch (const bad_sample&) {
    return {false, {}};
  }
  const auto bytes = x.bytes("image");
  return {true, {bytes.begin(), bytes.end()}};
}

} // namespace

TEST_CASE("row places are read back as they were written, and of their file alone") {
  const auto file = write_jpeg(300, 200);
  plane_decoder decoder;
  decoder.open(file, 1 << 20);
  const auto places = decoder.survey();
  REQUIRE(places.size() == 25 * 3); // 38 MCUs a row
  const auto bytes = write_row_places(file, places);
  CHECK(bytes.size() == 16 + 10 * places.size());
  std::vector<scan_place> read;
  REQUIRE(read_row_places(bytes, file, read));
  CHECK(read == places);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    auto damaged = bytes;
    damaged[i] ^= std::byte{4};
    CHECK_FALSE(read_row_places(damaged, file, read));
    CHECK(read.empty());
  }
  CHECK_FALSE(read_row_places(std::span{bytes}.first(15), file, read));
  CHECK_FALSE(read_row_places(std::span{bytes}.first(bytes.size() - 10), file, read));
  CHECK_FALSE(read_row_places(bytes, write_jpeg(300, 200, {}, 2), read));
  CHECK_FALSE(read_row_places({}, file, read));
}

TEST_CASE(
    "places that belong to another image do no harm: the pixels are right, or those of none") {
  const auto file = write_jpeg(300, 200);
  const auto other = write_jpeg(300, 200, {}, 2);
  plane_decoder decoder;
  decoder.open(other, 1 << 20);
  auto places = decoder.survey();
  image_reader reader;
  std::vector<std::byte> pixels(64 * 64 * 3);
  const resize_plan what{{10, 10, 280, 180}, {64, 64}, {0, 0, 64, 64}};
  // Out of the scan, or anywhere in it: nothing is read out of bounds.
  for (auto& x : places)
    x.bit *= 37;
  reader.open(file, 1 << 20, places);
  reader.make(what, {.type = dtype::u8}, pixels.data());
  places.pop_back();
  reader.open(file, 1 << 20, places);
  std::vector<std::byte> expected(pixels.size());
  reader.make(what, {.type = dtype::u8}, pixels.data());
  reader.open(file, 1 << 20);
  reader.make(what, {.type = dtype::u8}, expected.data());
  CHECK(pixels == expected);
}

TEST_CASE("the row index is built once, beside the record index, and used") {
  photo_shards x;
  std::vector<std::vector<std::byte>> before;
  {
    const auto data = x.data().root().data->get();
    REQUIRE(data->size() == 15);
    CHECK(places_of(*data, 0, "jpg") == 0);
    for (std::uint64_t i = 0; i < 4; ++i)
      before.push_back(pixels_of(*data, i).second);
  }
  std::uint64_t last = 0;
  std::uint64_t all = 0;
  const auto facts =
      build_row_index(x.shards, x.options, [&](std::uint64_t done, std::uint64_t of) {
        CHECK(done >= last);
        last = done;
        all = of;
      });
  CHECK(last == all);
  CHECK(all > 0);
  CHECK(facts.images == 12);
  CHECK(facts.indexed == 6);
  CHECK(facts.bytes_read > facts.image_bytes);
  CHECK(facts.not_stored == 0);
  const auto data = x.data().root().data->get();
  CHECK(places_of(*data, 0, "jpg") == 16 + 10 * 13 * 2);
  CHECK(places_of(*data, 0, "cls") == 0);
  CHECK(places_of(*data, 1, "jpg") == 0); // restart markers
  CHECK(places_of(*data, 2, "jpg") == 0); // damaged
  CHECK(places_of(*data, 3, "jpeg") == 16 + 10 * 5 * 4);
  for (std::uint64_t i = 0; i < 4; ++i)
    CHECK(pixels_of(*data, i).second == before[i]);
  const auto again = build_row_index(x.shards, x.options, {});
  CHECK(again.bytes_read == 0);
  CHECK(again.indexed == 6);
  CHECK(again.index_bytes == facts.index_bytes);
}

TEST_CASE("a shard that changed has no row index, until it is built again") {
  photo_shards x;
  build_row_index(x.shards, x.options, {});
  const timespec times[2]{{1000, 5}, {1000, 5}};
  REQUIRE(::utimensat(AT_FDCWD, x.shards[1].c_str(), times, 0) == 0);
  const auto data = x.data().root().data->get();
  CHECK(places_of(*data, 0, "jpg") > 0);
  CHECK(places_of(*data, 5, "jpg") == 0);
  CHECK(places_of(*data, 10, "jpg") > 0);
  const auto facts = build_row_index(x.shards, x.options, {});
  CHECK(facts.bytes_read > 0);
  CHECK(places_of(*x.data().root().data->get(), 5, "jpg") > 0);
}

TEST_CASE("an index whose places are damaged gives right pixels") {
  photo_shards x;
  std::vector<std::byte> expected = pixels_of(*x.data().root().data->get(), 0).second;
  build_row_index(x.shards, x.options, {});
  const auto path = tar_index_paths(x.shards[0], x.options.index_dir).at(0);
  const auto size = std::filesystem::file_size(path);
  for (const std::size_t from_end : {1U, 100U, 300U, 400U}) {
    std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(static_cast<std::streamoff>(size - from_end));
    file.put('\x5A');
  }
  CHECK(pixels_of(*x.data().root().data->get(), 0).second == expected);
}

TEST_CASE("a field that was set again has no places of the old one") {
  photo_shards x;
  build_row_index(x.shards, x.options, {});
  const auto data = x.data().root().data->get();
  sample s;
  sample_access::reset(s, nullptr);
  data->read(0, s);
  REQUIRE(!sample_access::places(s, "jpg").empty());
  sample_access::rename(s, "jpg", "picture");
  CHECK(!sample_access::places(s, "picture").empty());
  s.set("picture", "other bytes");
  CHECK(sample_access::places(s, "picture").empty());
}

TEST_CASE("where no directory takes an index, that is said") {
  photo_shards x;
  std::ofstream{x.dir / "file"} << "in the way";
  x.options.index_dir = x.dir / "file/index";
  const auto facts = build_row_index(x.shards, x.options, {});
  CHECK(facts.not_stored == 3);
  CHECK(facts.indexed == 6);
}
