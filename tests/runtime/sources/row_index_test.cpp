#include "runtime/image/image_reader.hpp"
#include "runtime/image/jpeg/row_places.hpp"
#include "runtime/sample/sample_access.hpp"
#include "runtime/sample/source_access.hpp"
#include "runtime/sources/folder/folder_index.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/other_program.hpp"
#include "tests/support/photo_data.hpp"
#include "tests/support/seal_index.hpp"
#include "tests/support/thrown_error.hpp"

#include <leat/image.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace leat::row_index_test {

using namespace leat::test;

namespace {

namespace fs = std::filesystem;

/// Writes over a file, some bytes before its end.
void damage(const std::string& path, std::size_t from_end) {
  std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
  file.seekp(static_cast<std::streamoff>(fs::file_size(path) - from_end));
  file.put('\x5A');
}

/// Progress of a building, which never goes back.
struct counted_progress {
  std::uint64_t last = 0;
  std::uint64_t all = 0;

  auto handler() {
    return [this](std::uint64_t done, std::uint64_t of) {
      CHECK(done >= last);
      last = done;
      all = of;
    };
  }
};

/// Bytes of the places that come with a record's field.
std::size_t places_of(const source& data, std::uint64_t record, std::string_view field) {
  sample x;
  sample_access::reset(x, nullptr);
  data.read(record, x);
  return source_access::places(x, field).size();
}

/// Pixels of a record through the map; nothing if it is bad.
file_bytes pixels_of(const source& data, std::uint64_t record) {
  sample x;
  sample_access::reset(x, nullptr);
  data.read(record, x);
  context in{rng(1, record), 0, record, 1, nullptr};
  if (cause_of([&] { train_image("jpg;jpeg", {.size = 48}).make()(x, in); }))
    return {};
  const auto pixels = x.bytes("image");
  return {pixels.begin(), pixels.end()};
}

/// Of the first records.
std::vector<file_bytes> all_pixels(const source& data, std::uint64_t records) {
  std::vector<file_bytes> all;
  for (std::uint64_t i = 0; i < records; ++i)
    all.push_back(pixels_of(data, i));
  return all;
}

/// Cuts index files, writes over them and removes them while data are open that use them.
void check_changes_in_use(const source& data, const std::vector<std::string>& indexes,
                          const std::vector<std::uint64_t>& records) {
  const auto expected = all_pixels(data, data.size());
  CHECK_FALSE(expected[0].empty());
  // Returns the bytes of all places that still come with images.
  const auto check = [&] {
    CHECK((all_pixels(data, data.size()) == expected));
    std::size_t places = 0;
    for (const auto record : records)
      places += places_of(data, record, "jpg");
    return places;
  };
  CHECK(check() > 0);
  for (const auto& file : indexes)
    std::ofstream{file} << std::string(100'000, 'x');
  check();
  for (const auto& file : indexes)
    fs::resize_file(file, 60);
  CHECK(check() == 0);
  for (const auto& file : indexes)
    fs::remove(file);
  CHECK(check() == 0);
}

} // namespace

TEST_CASE("row places are read back as they were written, and only for their file") {
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
  // Places outside the scan or anywhere in it must not lead to reads out of bounds.
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
  REQUIRE(x.data()->size() == 15);
  CHECK(places_of(*x.data(), 0, "jpg") == 0);
  const auto before = all_pixels(*x.data(), 4);
  counted_progress progress;
  const auto facts = build_row_index(x.shards, x.options, progress.handler());
  CHECK(progress.last == progress.all);
  CHECK(progress.all > 0);
  CHECK(facts.images == 12);
  CHECK(facts.indexed == 6);
  CHECK(facts.bytes_read > facts.image_bytes);
  CHECK(facts.not_stored == 0);
  const auto data = x.data();
  CHECK(places_of(*data, 0, "jpg") == 16 + 10 * 13 * 2);
  CHECK(places_of(*data, 0, "cls") == 0);
  CHECK(places_of(*data, 1, "jpg") == 0); // restart markers
  CHECK(places_of(*data, 2, "jpg") == 0); // damaged
  CHECK(places_of(*data, 3, "jpeg") == 16 + 10 * 5 * 4);
  CHECK((all_pixels(*data, 4) == before));
  auto again = x.build();
  CHECK(again.bytes_read == 0);
  again.bytes_read = facts.bytes_read;
  CHECK(again == facts); // all JPEGs are counted, also those without a row index
}

TEST_CASE("a program builds the row indexes of all sources of a pipeline that can have one") {
  const photo_shards shards;
  const photo_folder folder;
  const auto data = zip({concat({shards.stage().map(select({"jpg"})), shards.stage()}),
                         image_folder(folder.path, folder.options).shuffle(), count(9)})
                        .batch(4);
  std::pair<std::uint64_t, std::uint64_t> last;
  const auto facts = build_row_index(data, [&](std::uint64_t done, std::uint64_t of) {
    last = {done, of};
  });
  REQUIRE(facts);
  CHECK(last.first == last.second);
  CHECK(facts->bytes_read > 0);
  auto sum = shards.build();
  CHECK(sum.bytes_read == 0);
  sum += sum; // the pipeline has them twice
  sum += folder.build();
  CHECK(facts->indexed == sum.indexed);
  CHECK(facts->index_bytes == sum.index_bytes);
  CHECK(build_row_index(data) == sum);
  CHECK_FALSE(build_row_index(count(9).batch(3)));
}

TEST_CASE("a shard that changed has no row index, until it is built again") {
  photo_shards x;
  x.build();
  const timespec times[2]{{1000, 5}, {1000, 5}};
  REQUIRE(::utimensat(AT_FDCWD, x.shards[1].c_str(), times, 0) == 0);
  const auto data = x.data();
  CHECK(places_of(*data, 0, "jpg") > 0);
  CHECK(places_of(*data, 5, "jpg") == 0);
  CHECK(places_of(*data, 10, "jpg") > 0);
  CHECK(x.build().bytes_read > 0);
  CHECK(places_of(*x.data(), 5, "jpg") > 0);
}

TEST_CASE("an index whose places are damaged gives right pixels") {
  photo_shards x;
  const auto expected = pixels_of(*x.data(), 0);
  const auto built = x.build();
  const auto places = (built.index_bytes + built.work_bytes) / x.shards.size();
  for (const std::size_t from_end : {std::size_t{1}, places / 2, places - 200, places - 100})
    damage(x.indexes()[0], from_end);
  CHECK(pixels_of(*x.data(), 0) == expected);
  // The damaged indexes are found and made again, only for this shard.
  const auto facts = x.build();
  CHECK(facts.bytes_read > 0);
  CHECK(facts.bytes_read < fs::file_size(x.shards[0]));
  CHECK(facts.indexed == 6);
  CHECK(x.build().bytes_read == 0);
}

TEST_CASE("rows that only the cache knows are used if a plain index stands beside the data") {
  photo_shards x;
  REQUIRE(::setenv("XDG_CACHE_HOME", (x.dir / "cache").c_str(), 1) == 0);
  x.options.index_dir.clear();
  auto with_rows = x.options;
  with_rows.index_dir = x.dir / "rows";
  build_row_index({x.shards[0]}, with_rows, {});
  x.data(); // makes plain ones
  const auto paths = index_paths(x.shards[0], {});
  REQUIRE(paths.size() == 2);
  REQUIRE(fs::exists(paths[0]));
  fs::create_directories(fs::path{paths[1]}.parent_path());
  fs::copy_file(index_paths(x.shards[0], with_rows.index_dir).at(0), paths[1],
                fs::copy_options::overwrite_existing);
  CHECK(places_of(*x.data(), 0, "jpg") > 0);
  CHECK(build_row_index({x.shards[0]}, x.options, {}).bytes_read == 0);
  fs::remove(paths[1]);
  CHECK(places_of(*x.data(), 0, "jpg") == 0);
}

TEST_CASE("of files other than JPEGs only the beginning is read for the row index") {
  temporary_directory dir;
  const auto shard = dir / "films.tar";
  tar_writer tar;
  tar.file("a.mp4", std::string(1'000'000, 'x')).file("b.jpg", text_of(write_jpeg(300, 200)));
  tar.end().save(shard);
  const auto facts = build_row_index({shard}, tar_options{.index_dir = dir / "index"}, {});
  CHECK(facts.indexed == 1);
  CHECK(facts.bytes_read == 4096 + facts.image_bytes);
}

TEST_CASE("a shard that cannot be read leaves the others their row index") {
  photo_shards x;
  fs::resize_file(x.shards[1], fs::file_size(x.shards[1]) / 2);
  CHECK_THROWS_AS(x.build(), error);
  const auto facts = build_row_index({x.shards[0], x.shards[2]}, x.options, {});
  CHECK(facts.bytes_read == 0);
  CHECK(facts.indexed == 4);
}

TEST_CASE("index files that are cut, written over or removed in use change no pixel") {
  const photo_shards shards;
  shards.build();
  check_changes_in_use(*shards.data(), shards.indexes(), {0, 1, 5, 6, 10, 11});
  const photo_folder folder;
  folder.build();
  check_changes_in_use(*folder.data(), folder.indexes(), {0, 1, 2, 3, 4, 5});
}

TEST_CASE("a field that was set again has no places of the old one") {
  photo_shards x;
  x.build();
  const auto data = x.data();
  sample s;
  sample_access::reset(s, nullptr);
  data->read(0, s);
  REQUIRE(!source_access::places(s, "jpg").empty());
  sample_access::rename(s, "jpg", "picture");
  CHECK(!source_access::places(s, "picture").empty());
  s.set("picture", "other bytes");
  CHECK(source_access::places(s, "picture").empty());
}

TEST_CASE("where no directory takes an index, that is said") {
  const auto check = [](auto&& x, std::uint64_t not_stored, std::uint64_t indexed) {
    std::ofstream{x.dir / "file"} << "in the way";
    x.options.index_dir = x.dir / "file/index";
    const auto facts = x.build();
    CHECK(facts.not_stored == not_stored);
    CHECK(facts.indexed == indexed);
  };
  check(photo_shards{}, 3, 6);
  check(photo_folder{}, 2, 4);
}

TEST_CASE("the row index of a folder is built once, class by class, and used") {
  photo_folder x;
  REQUIRE(x.data()->size() == 6);
  CHECK(places_of(*x.data(), 0, "jpg") == 0);
  const auto before = all_pixels(*x.data(), 6);
  counted_progress progress;
  const auto facts = build_row_index(list_folder(x.path), x.options, progress.handler());
  const auto all = progress.all;
  CHECK(progress.last == all);
  CHECK(all == x.data()->facts().bytes);
  CHECK(facts.bytes_read == all);
  CHECK(facts.images == 6);
  CHECK(facts.indexed == 4);
  CHECK(facts.image_bytes == all);
  CHECK(facts.not_stored == 0);
  const auto data = x.data();
  // a-b/1.jpg, a-b/2.jpg, a-b/deep/3.jpg, and the same for a.
  const std::vector<std::size_t> expected{16 + 10 * 13 * 2, 0, 16 + 10 * 5 * 4,
                                          16 + 10 * 13 * 2, 0, 16 + 10 * 5 * 4};
  for (std::uint64_t i = 0; i < 6; ++i)
    CHECK(places_of(*data, i, "jpg") == expected[i]);
  CHECK((all_pixels(*data, 6) == before));
  CHECK(places_of(*data, 0, "cls") == 0);
  auto again = x.build();
  CHECK(again.bytes_read == 0);
  again.bytes_read = facts.bytes_read;
  CHECK(again == facts);
}

TEST_CASE("a class whose images are others has no row index, until it is built again") {
  photo_folder x;
  x.build();
  photo_folder::save(x.path + "/a/4.jpg", write_jpeg(90, 90));
  CHECK(places_of(*x.data(), 0, "jpg") > 0);
  CHECK(places_of(*x.data(), 3, "jpg") == 0);
  const auto facts = x.build();
  CHECK(facts.bytes_read > 0);
  CHECK(facts.bytes_read < facts.image_bytes);
  CHECK(places_of(*x.data(), 3, "jpg") > 0);
  CHECK(places_of(*x.data(), 5, "jpg") > 0);
  // As many images as before, one of them with another size.
  photo_folder::save(x.path + "/a/4.jpg", write_jpeg(91, 90));
  CHECK(places_of(*x.data(), 0, "jpg") > 0);
  CHECK(places_of(*x.data(), 3, "jpg") == 0);
}

TEST_CASE("an image that was replaced by another of its size has its own pixels") {
  photo_folder x;
  x.build();
  const auto path = x.path + "/a-b/1.jpg";
  const auto size = fs::file_size(path);
  auto other = write_jpeg(200, 150, {.horizontal = 2, .vertical = 2}, 9);
  REQUIRE(other.size() < size);
  // Any number of fill bytes may precede a marker.
  other.insert(other.end() - 2, size - other.size(), std::byte{0xFF});
  photo_folder::save(path, other);
  REQUIRE(fs::file_size(path) == size);
  const auto found = pixels_of(*x.data(), 0);
  x.options.index_dir = x.dir / "none";
  CHECK(places_of(*x.data(), 0, "jpg") == 0);
  CHECK(pixels_of(*x.data(), 0) == found);
}

TEST_CASE("an image that was written over in its scan has its own pixels, and its class is indexed "
          "anew") {
  photo_folder x;
  x.build();
  const auto path = x.path + "/a-b/1.jpg";
  const auto time = fs::last_write_time(path);
  damage(path, fs::file_size(path) / 3);
  fs::last_write_time(path, time + std::chrono::seconds{1});
  CHECK(places_of(*x.data(), 0, "jpg") == 0);
  CHECK(places_of(*x.data(), 5, "jpg") > 0);
  const auto found = pixels_of(*x.data(), 0);
  CHECK(x.build().bytes_read > 0);
  CHECK(x.build().bytes_read == 0);
  CHECK(pixels_of(*x.data(), 0) == found);
}

TEST_CASE("places are of a file with these bytes all over it") {
  const auto file = write_jpeg(900, 700);
  plane_decoder decoder;
  decoder.open(file, 1 << 20);
  const auto bytes = write_row_places(file, decoder.survey());
  std::vector<scan_place> read;
  REQUIRE(read_row_places(bytes, file, read));
  CHECK(are_whole_row_places(bytes));
  CHECK(are_whole_row_places({}));
  CHECK_FALSE(are_whole_row_places(std::span{bytes}.first(bytes.size() - 10)));
  REQUIRE(file.size() > 10'000);
  for (std::size_t part = 0; part < 10; ++part) {
    auto other = file;
    const auto begin = file.size() * part / 10;
    for (std::size_t i = begin; i < file.size() * (part + 1) / 10; ++i)
      other[i] ^= std::byte{1};
    CHECK_FALSE(read_row_places(bytes, other, read));
  }
}

TEST_CASE("a folder's index with any byte changed or cut is refused, or gives right pixels") {
  photo_folder x;
  const auto expected = all_pixels(*x.data(), 3);
  x.build();
  const auto files = list_folder(x.path);
  const auto images = files->of(files->classes.at(1));
  const auto paths = folder_index_paths(*files, files->classes.at(1), x.options);
  const auto stored = read_file(paths.at(0));
  const auto content = std::as_bytes(std::span{stored});
  const file_bytes good{content.begin(), content.end()};
  const std::size_t checked = 40 + 16 * 32 + 2 * 8 * 3; // header, table and ends
  for (std::size_t i = 0; i < good.size(); i += i < checked ? 1 : 37) {
    auto bad = good;
    bad[i] ^= std::byte{16};
    CHECK(folder_index::adopt(held(bad), images).has_value() == (i >= checked));
    REQUIRE(store_index(paths, bad));
    CHECK((all_pixels(*x.data(), 3) == expected));
  }
  for (const auto size : {std::size_t{0}, std::size_t{47}, checked, good.size() - 1}) {
    REQUIRE(store_index(paths, std::span{good}.first(size)));
    CHECK(places_of(*x.data(), 0, "jpg") == 0);
  }
}

TEST_CASE("a folder's index is stored beside each class if no directory is named") {
  photo_folder x;
  x.options.index_dir.clear();
  x.build();
  CHECK(fs::exists(x.path + "/a.leat-index"));
  CHECK(fs::exists(x.path + "/a-b.leat-index"));
  CHECK_FALSE(fs::exists(x.path + "/none.leat-index"));
  CHECK(x.data()->size() == 6);
  CHECK(places_of(*x.data(), 5, "jpg") > 0);
  CHECK(x.build().bytes_read == 0);
}

} // namespace leat::row_index_test
