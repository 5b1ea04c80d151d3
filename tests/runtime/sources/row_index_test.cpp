#include "runtime/image/image_reader.hpp"
#include "runtime/image/jpeg/row_places.hpp"
#include "runtime/pipeline/operator_node.hpp"
#include "runtime/sample/sample_access.hpp"
#include "runtime/sample/source_access.hpp"
#include "runtime/sources/folder/folder_index.hpp"
#include "runtime/sources/index_files.hpp"
#include "runtime/sources/row_index.hpp"
#include "runtime/sources/tar/tar_index.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/jpeg_writer.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/image.hpp>
#include <leat/row_index.hpp>
#include <leat/source.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace leat::row_index_test {

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

/// Two classes and an empty one; the second image of each is damaged.
struct photo_folder {
  temporary_directory dir;
  std::string path = dir / "photos";
  folder_options options{.index_dir = dir / "index"};

  photo_folder() {
    std::filesystem::create_directories(path + "/none");
    for (std::uint32_t i = 0; i < 2; ++i) {
      const auto folder = path + (i == 0 ? "/a" : "/a-b");
      std::filesystem::create_directories(folder + "/deep");
      auto torn = write_jpeg(120, 90, {}, 7 + i);
      torn[torn.size() / 2] = std::byte{0xFF};
      torn[torn.size() / 2 + 1] = std::byte{0xD9};
      save(folder + "/1.jpg", write_jpeg(300 + i, 200, {.horizontal = 2, .vertical = 2}, i));
      save(folder + "/2.jpg", torn);
      save(folder + "/deep/3.jpg", write_jpeg(500, 40, {}, i));
    }
  }

  static void save(const std::string& to, const std::vector<std::byte>& bytes) {
    tar_writer::write(to, text_of(bytes));
  }
  std::shared_ptr<const source> data() const {
    return image_folder(path, options).root().data->get();
  }
  row_index_facts build() const { return build_row_index(list_folder(path + "/"), options, {}); }
};

/// Bytes of the places that come with a record's field.
std::size_t places_of(const source& data, std::uint64_t record, std::string_view field) {
  sample x;
  sample_access::reset(x, nullptr);
  data.read(record, x);
  return source_access::places(x, field).size();
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
  auto again = build_row_index(x.shards, x.options, {});
  CHECK(again.bytes_read == 0);
  again.bytes_read = facts.bytes_read;
  CHECK(again == facts); // all JPEGs are counted, also those without a row index
}

TEST_CASE("a program builds the row indexes of all sources of a pipeline that can have one") {
  const photo_shards shards;
  const photo_folder folder;
  const auto data = zip({concat({shards.data().map(select({"jpg"})), shards.data()}),
                         image_folder(folder.path, folder.options).shuffle(), count(9)})
                        .batch(4);
  std::uint64_t last = 0;
  std::uint64_t all = 0;
  const auto facts = build_row_index(data, [&](std::uint64_t done, std::uint64_t of) {
    last = done;
    all = of;
  });
  REQUIRE(facts);
  CHECK(last == all);
  CHECK(facts->bytes_read > 0);
  auto sum = build_row_index(shards.shards, shards.options, {});
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
  const auto path = index_paths(x.shards[0], x.options.index_dir).at(0);
  const auto size = std::filesystem::file_size(path);
  for (const std::size_t from_end : {1U, 100U, 300U, 400U}) {
    std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(static_cast<std::streamoff>(size - from_end));
    file.put('\x5A');
  }
  CHECK(pixels_of(*x.data().root().data->get(), 0).second == expected);
  // The damaged indexes are found and made again, only for this shard.
  const auto shard_bytes = std::filesystem::file_size(x.shards[0]);
  const auto facts = build_row_index(x.shards, x.options, {});
  CHECK(facts.bytes_read > 0);
  CHECK(facts.bytes_read < shard_bytes);
  CHECK(facts.indexed == 6);
  CHECK(build_row_index(x.shards, x.options, {}).bytes_read == 0);
}

TEST_CASE("rows that only the cache knows are used if a plain index stands beside the data") {
  photo_shards x;
  REQUIRE(::setenv("XDG_CACHE_HOME", (x.dir / "cache").c_str(), 1) == 0);
  x.options.index_dir.clear();
  auto with_rows = x.options;
  with_rows.index_dir = x.dir / "rows";
  build_row_index({x.shards[0]}, with_rows, {});
  x.data().root().data->get(); // makes plain ones
  const auto paths = index_paths(x.shards[0], {});
  REQUIRE(paths.size() == 2);
  REQUIRE(std::filesystem::exists(paths[0]));
  std::filesystem::create_directories(std::filesystem::path{paths[1]}.parent_path());
  std::filesystem::copy_file(index_paths(x.shards[0], with_rows.index_dir).at(0), paths[1],
                             std::filesystem::copy_options::overwrite_existing);
  CHECK(places_of(*x.data().root().data->get(), 0, "jpg") > 0);
  CHECK(build_row_index({x.shards[0]}, x.options, {}).bytes_read == 0);
  std::filesystem::remove(paths[1]);
  CHECK(places_of(*x.data().root().data->get(), 0, "jpg") == 0);
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
  std::filesystem::resize_file(x.shards[1], std::filesystem::file_size(x.shards[1]) / 2);
  CHECK_THROWS_AS(build_row_index(x.shards, x.options, {}), error);
  const auto facts = build_row_index({x.shards[0], x.shards[2]}, x.options, {});
  CHECK(facts.bytes_read == 0);
  CHECK(facts.indexed == 4);
}

TEST_CASE("index files that are cut, written over or removed in use change no pixel") {
  photo_shards x;
  build_row_index(x.shards, x.options, {});
  const auto data = x.data().root().data->get();
  const std::vector<std::uint64_t> records{0, 1, 5, 6, 10, 11};
  std::vector<std::vector<std::byte>> expected;
  // Returns the bytes of all places that still come with images.
  const auto check = [&] {
    std::size_t places = 0;
    for (std::size_t i = 0; i < records.size(); ++i) {
      CHECK(pixels_of(*data, records[i]).second == expected[i]);
      places += places_of(*data, records[i], "jpg");
    }
    return places;
  };
  for (const auto record : records) {
    expected.push_back(pixels_of(*data, record).second);
    CHECK_FALSE(expected.back().empty());
  }
  CHECK(check() > 0);
  std::vector<std::string> files;
  for (const auto& shard : x.shards)
    files.push_back(index_paths(shard, x.options.index_dir).front());
  for (const auto& file : files)
    std::ofstream{file} << std::string(100'000, 'x');
  check();
  for (const auto& file : files)
    std::filesystem::resize_file(file, 100);
  CHECK(check() == 0);
  for (const auto& file : files)
    std::filesystem::remove(file);
  CHECK(check() == 0);
}

TEST_CASE("a field that was set again has no places of the old one") {
  photo_shards x;
  build_row_index(x.shards, x.options, {});
  const auto data = x.data().root().data->get();
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
  photo_shards x;
  std::ofstream{x.dir / "file"} << "in the way";
  x.options.index_dir = x.dir / "file/index";
  const auto facts = build_row_index(x.shards, x.options, {});
  CHECK(facts.not_stored == 3);
  CHECK(facts.indexed == 6);
}

TEST_CASE("the row index of a folder is built once, class by class, and used") {
  photo_folder x;
  std::vector<std::vector<std::byte>> before;
  {
    const auto data = x.data();
    REQUIRE(data->size() == 6);
    CHECK(places_of(*data, 0, "jpg") == 0);
    for (std::uint64_t i = 0; i < 6; ++i)
      before.push_back(pixels_of(*data, i).second);
  }
  std::uint64_t last = 0;
  std::uint64_t all = 0;
  const auto facts = build_row_index(list_folder(x.path), x.options, [&](auto done, auto of) {
    CHECK(done >= last);
    last = done;
    all = of;
  });
  CHECK(last == all);
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
  for (std::uint64_t i = 0; i < 6; ++i) {
    CHECK(places_of(*data, i, "jpg") == expected[i]);
    CHECK(pixels_of(*data, i).second == before[i]);
  }
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
  const auto size = std::filesystem::file_size(path);
  auto other = write_jpeg(200, 150, {.horizontal = 2, .vertical = 2}, 9);
  REQUIRE(other.size() < size);
  // Any number of fill bytes may precede a marker.
  other.insert(other.end() - 2, size - other.size(), std::byte{0xFF});
  photo_folder::save(path, other);
  REQUIRE(std::filesystem::file_size(path) == size);
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
  const auto time = std::filesystem::last_write_time(path);
  {
    std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(path) * 2 / 3));
    file.put('\x5A');
  }
  std::filesystem::last_write_time(path, time + std::chrono::seconds{1});
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
  std::vector<std::vector<std::byte>> expected;
  for (std::uint64_t i = 0; i < 3; ++i)
    expected.push_back(pixels_of(*x.data(), i).second);
  x.build();
  const auto files = list_folder(x.path);
  const auto images = files->of(files->classes.at(1));
  const auto paths = folder_index_paths(*files, files->classes.at(1), x.options);
  std::ifstream in{paths.at(0), std::ios::binary};
  const std::string stored{std::istreambuf_iterator<char>{in}, {}};
  const auto bytes = std::as_bytes(std::span{stored});
  const std::vector<std::byte> good{bytes.begin(), bytes.end()};
  const std::size_t checked = 40 + 16 * 32 + 8 * 3; // header, table and ends
  for (std::size_t i = 0; i < good.size(); i += i < checked ? 1 : 37) {
    auto bad = good;
    bad[i] ^= std::byte{16};
    const auto held = std::make_shared<std::vector<std::byte>>(bad);
    CHECK(folder_index::adopt({{held, held->data()}, held->size()}, images).has_value()
          == (i >= checked));
    REQUIRE(store_index(paths, bad));
    for (std::uint64_t k = 0; k < 3; ++k)
      CHECK(pixels_of(*x.data(), k).second == expected[k]);
  }
  for (const auto size : {std::size_t{0}, std::size_t{47}, checked, good.size() - 1}) {
    REQUIRE(store_index(paths, std::span{good}.first(size)));
    CHECK(places_of(*x.data(), 0, "jpg") == 0);
  }
}

TEST_CASE("a folder's index files that are cut, written over or removed in use change no pixel") {
  photo_folder x;
  x.build();
  const auto data = x.data();
  std::vector<std::pair<bool, std::vector<std::byte>>> expected;
  for (std::uint64_t i = 0; i < data->size(); ++i)
    expected.push_back(pixels_of(*data, i));
  // Returns the bytes of all places that still come with images.
  const auto check = [&] {
    std::size_t places = 0;
    for (std::uint64_t i = 0; i < data->size(); ++i) {
      CHECK(pixels_of(*data, i) == expected[i]);
      places += places_of(*data, i, "jpg");
    }
    return places;
  };
  CHECK(check() > 0);
  std::vector<std::string> indexes;
  for (const auto* name : {"a", "a-b"})
    indexes.push_back(index_paths(x.path + "/" + name, x.options.index_dir).front());
  for (const auto& file : indexes)
    std::ofstream{file} << std::string(100'000, 'x');
  check();
  for (const auto& file : indexes)
    std::filesystem::resize_file(file, 60);
  CHECK(check() == 0);
  for (const auto& file : indexes)
    std::filesystem::remove(file);
  CHECK(check() == 0);
}

TEST_CASE("where no directory takes a folder's index, that is said") {
  photo_folder x;
  std::ofstream{x.dir / "file"} << "in the way";
  x.options.index_dir = x.dir / "file/index";
  const auto facts = x.build();
  CHECK(facts.not_stored == 2);
  CHECK(facts.indexed == 4);
}

TEST_CASE("a folder's index is stored beside each class if no directory is named") {
  photo_folder x;
  x.options.index_dir.clear();
  x.build();
  CHECK(std::filesystem::exists(x.path + "/a.leat-index"));
  CHECK(std::filesystem::exists(x.path + "/a-b.leat-index"));
  CHECK_FALSE(std::filesystem::exists(x.path + "/none.leat-index"));
  CHECK(x.data()->size() == 6);
  CHECK(places_of(*x.data(), 5, "jpg") > 0);
  CHECK(x.build().bytes_read == 0);
}

} // namespace leat::row_index_test
