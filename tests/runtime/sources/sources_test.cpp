#include "runtime/sample/sample_access.hpp"
#include "runtime/sources/index_files.hpp"
#include "runtime/storage/file_descriptor.hpp"
#include "runtime/storage/whole_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/linear_pipeline.hpp"
#include "tests/support/places.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/source_reading.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/sources.hpp>

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>

namespace leat::sources_test {

using namespace leat::test;

namespace {

namespace fs = std::filesystem;
using record = stream_sample;
using texts = std::vector<std::string>;

std::optional<errc> code_of(const pipeline& x) {
  return leat::code_of([&] { source_of(x); });
}

int failing_reads = 0;
int failing_with = 0;

ssize_t failing_pread(int fd, void* into, std::size_t size, off_t offset) {
  if (failing_reads-- > 0) {
    errno = failing_with;
    return -1;
  }
  // Short reads are allowed.
  return ::pread(fd, into, std::min<std::size_t>(size, 3), offset);
}

} // namespace

TEST_CASE("reads continue after interruptions, transient errors and short reads") {
  temporary_directory dir;
  tar_writer::write(dir / "x", "0123456789");
  auto file = file_descriptor::open(dir / "x");
  std::string into(7, ' ');
  auto read = [&](int failures, int code) {
    failing_reads = failures;
    failing_with = code;
    return read_at(file, "x", 2, std::as_writable_bytes(std::span{into}), failing_pread);
  };
  CHECK(read(100, EINTR) == 7);
  CHECK(into == "2345678");
  CHECK(read(3, EIO) == 7);
  CHECK(read(3, EAGAIN) == 7);
  CHECK_THROWS_AS(read(4, EIO), error);
  CHECK_THROWS_AS(read(1, EBADF), error);
}

TEST_CASE("random archives give what was written into them") {
  const std::uint64_t first_seed = 20;
  for (auto seed = first_seed; seed < first_seed + 200; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random{seed};
    auto below = [&](std::uint64_t n) { return random() % n; };
    temporary_directory dir;
    std::vector<record> want;
    const auto shards = 1 + below(3);
    for (std::uint64_t shard = 0; shard < shards; ++shard) {
      tar_writer tar;
      const auto file = std::to_string(shard) + ".tar";
      for (auto n = below(8); n > 0; --n) {
        auto key = "k" + std::to_string(n) + std::string(below(4) == 0 ? 150 : 1, 'q');
        record x{file + "/" + key, {}};
        for (std::string name : {"jpg", "cls", "seg.png", "txt"}) {
          if (below(4) == 0 && name != "txt")
            continue;
          const auto content = random_bytes(random, below(10) == 0 ? below(200'000) : below(1500));
          switch (auto path = key + "." + name; below(path.size() > 100 ? 2 : 4)) {
          case 0:
            tar.gnu_long(path, content);
            break;
          case 1:
            tar.pax(path, content);
            break;
          case 2:
            tar.file("./" + path, content, '0', tar_writer::dialect::v7);
            break;
          default:
            tar.file(path, content);
          }
          // Sometimes larger than the gap that one read covers.
          if (below(5) == 0)
            tar.file("passed-over", std::string(below(2) ? 100'000 : 10, 'p'));
          x.fields.emplace_back(name, content);
        }
        want.push_back(x);
      }
      tar.raw(std::string((1 + below(20)) * tar_writer::block, '\0')).save(dir / file);
    }
    // If there is only one shard, its name is its basename, too.
    auto data = tar_shards(dir / "*.tar", {.index_dir = dir / "i"});
    REQUIRE(read_all(source_of(data)) == want);
    REQUIRE(read_all(source_of(tar_shards(dir / "*.tar", {.index_dir = dir / "i"}))) == want);
  }
}

TEST_CASE("a tar source names its files, and its digest covers only names, sizes and counts") {
  temporary_directory dir;
  auto write = [&](const std::string& where, const std::string& content) {
    fs::create_directories(dir / where);
    tar_writer{}.file("a.txt", content).file("b.txt", "2").end().save(dir / (where + "/0.tar"));
    tar_writer{}.end().save(dir / (where + "/1.tar"));
    tar_writer{}.file("c.txt", "3").end().save(dir / (where + "/2.tar"));
    return tar_shards(dir / (where + "/{0..2}.tar"), {.index_dir = dir / "i"});
  };
  auto data = write("x", "1");
  CHECK(source_of(data).name() == "tar");
  CHECK(source_stage(data).op == "tar_shards");
  CHECK(source_of(data).records_per_file() == std::vector<std::uint64_t>{2, 0, 1});
  CHECK(source_of(data).facts().files == 3);
  CHECK(source_of(data).facts().records == 3);
  CHECK(source_of(data).facts().bytes == 3072 + 1024 + 2048);
  CHECK(read_all(source_of(data)).back() == record{"2.tar/c", {{"txt", "3"}}});
  CHECK(source_of(write("y", "other content")).facts() == source_of(data).facts());
  CHECK(source_of(write("z", std::string(600, 'l'))).facts().digest
        != source_of(data).facts().digest);
  fs::rename(dir / "y/1.tar", dir / "y/3.tar");
  auto renamed = tar_shards(dir / "y/{0,3,2}.tar", {.index_dir = dir / "i"});
  CHECK(source_of(renamed).facts().digest != source_of(data).facts().digest);
}

void set_time(const std::string& file) {
  const timespec times[2]{{1000, 5}, {1000, 5}};
  REQUIRE(::utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
}

TEST_CASE("a shard that was changed, and has the size and time of before, ends the job") {
  temporary_directory dir;
  const auto shard = dir / "a.tar";
  const auto write = [&](const std::string& first, const std::string& second, std::size_t gap) {
    tar_writer tar;
    tar.file(first + ".txt", first).file("passed-over", std::string(gap, 'p'));
    tar.file(second + ".cls", second).file("c.txt", "c").end().save(shard);
    set_time(shard);
  };
  const tar_options options{.index_dir = dir / "i"};
  const auto data = [&] { return tar_shards(shard, options); };
  sample s;
  // Close to each other, or so far apart that they are read separately.
  for (const std::size_t gap : {10, 100'000})
    for (const auto& [first, second] : {std::pair{"b", "a"}, std::pair{"a", "b"}}) {
      CAPTURE(gap, first);
      fs::remove_all(options.index_dir);
      write("a", "a", gap);
      REQUIRE(read_one(source_of(data()), 0, s).fields.size() == 2);
      write(first, second, gap);
      const auto changed = data(); // its old index is trusted
      check_error([&] { read_one(source_of(changed), 0, s); },
                  {.code = errc::torn_file,
                   .file = shard,
                   .sample = "a",
                   .got_has = "indexed",
                   .needed_has = "start the job anew"});
      CHECK(read_one(source_of(changed), 1, s).fields.at(0).second == "c");
      // The change was noticed, so the next start is right.
      CHECK(source_of(data()).size() == 3);
      CHECK(read_one(source_of(data()), 0, s).id == std::string{"a.tar/"} + first);
    }
}

TEST_CASE("an index of a changed shard that cannot be removed says what to do") {
  temporary_directory dir;
  const auto shard = dir / "a.tar";
  tar_writer{}.file("a.txt", "1").end().save(shard);
  set_time(shard);
  const auto index = index_paths(shard, dir / "i").at(0);
  sample s;
  REQUIRE(read_one(source_of(tar_shards(shard, {.index_dir = dir / "i"})), 0, s).id == "a.tar/a");
  tar_writer{}.file("b.txt", "1").end().save(shard);
  set_time(shard);
  const auto data = tar_shards(shard, {.index_dir = dir / "i"});
  REQUIRE(source_of(data).size() == 1);
  fs::remove(index);
  fs::create_directory(index); // a directory, which unlink(2) cannot remove
  check_error([&] { read_one(source_of(data), 0, s); },
              {.code = errc::torn_file, .needed_has = "touch"});
}

TEST_CASE("of any shard in place of another one, samples are right, or an error") {
  seeded_random random;
  const auto below = [&](std::size_t n) { return random() % n; };
  temporary_directory dir;
  const auto shard = dir / "a.tar";
  const tar_options options{.index_dir = dir / "i"};
  // The names with a common beginning are so long that their difference is in an extended header.
  const std::vector<std::string> names{"a", "b", std::string(120, 'n') + "1",
                                       std::string(120, 'n') + "2", std::string(4000, 'm')};
  const auto write = [&] {
    std::vector<record> want;
    tar_writer tar;
    for (std::size_t i = 0; i < 4; ++i) {
      const auto name = names[below(names.size())] + std::to_string(i);
      const auto content =
          name.back() + std::string(below(3) * 300, 'x') + std::to_string(below(9));
      below(2) == 0 ? tar.pax(name + ".txt", content) : tar.gnu_long(name + ".txt", content);
      want.push_back({"a.tar/" + name, {{"txt", content}}});
    }
    // Archives of tar have the size of a whole number of records.
    auto bytes = tar.end().bytes();
    bytes.resize(std::size_t{40} * 1024);
    tar_writer::write(shard, bytes);
    set_time(shard);
    return want;
  };
  sample s;
  std::size_t errors = 0;
  for (int round = 0; round < 200; ++round) {
    fs::remove_all(options.index_dir);
    write();
    (void)source_of(tar_shards(shard, options));
    const auto want = write();
    const auto data = tar_shards(shard, options);
    for (std::size_t i = 0; i < want.size(); ++i) {
      auto got = want[i];
      const auto code = leat::code_of([&] { got = read_one(source_of(data), i, s); });
      // Where there is no error, the headers are as before, and only the content may have changed.
      CHECK(got == want[i]);
      CHECK(code.value_or(errc::torn_file) == errc::torn_file);
      errors += code ? 1 : 0;
    }
  }
  CHECK(errors > 100);
}

TEST_CASE("bytes read are counted, headers included") {
  temporary_directory dir;
  tar_writer{}.file("a.jpg", std::string(600, 'x')).file("a.cls", "7").end().save(dir / "a.tar");
  auto data = tar_shards(dir / "a.tar", {.index_dir = dir / "i"});
  sample s;
  read_one(source_of(data), 0, s);
  CHECK(sample_access::take_bytes_read(s) == 512 + 1024 + 512 + 1);
}

TEST_CASE("a tear that is allowed is said at each opening") {
  temporary_directory dir;
  tar_writer{}.file("a.txt", "1").file("b.txt", "2").save(dir / "a.tar");
  fs::resize_file(dir / "a.tar", 1536);
  const caught_notices notices;
  auto data = [&](bool allow) {
    return tar_shards(dir / "a.tar", {.index_dir = dir / "i", .allow_torn = allow});
  };
  CHECK(code_of(data(false)) == errc::torn_file);
  CHECK(notices.texts().empty());
  for (std::size_t opening = 1; opening <= 2; ++opening) {
    CHECK(read_all(source_of(data(true))) == std::vector{record{"a.tar/a", {{"txt", "1"}}}});
    REQUIRE(notices.texts().size() == opening);
    CHECK(notices.texts().back().find("b.txt") != std::string::npos);
  }
}

TEST_CASE("an image folder has a class a subfolder and records in bytewise order") {
  temporary_directory dir;
  for (auto name : {"b/2.JPG", "b/10.jpeg", "b-x/1.jpg", "b/deep/er.Jpeg", "b/one.PNG", "b/no.gif",
                    "c/readme", "1.jpg", ".git/x.jpg"}) {
    fs::create_directories(fs::path{dir / name}.parent_path());
    tar_writer::write(dir / name, name);
  }
  auto data = image_folder(dir.path() + "/");
  auto image = [](const std::string& path, const char* number, const char* of) {
    return record{path, {{"jpg", path}, {"cls", number}, {"class", of}}};
  };
  CHECK(read_all(source_of(data))
        == std::vector{image("b-x/1.jpg", "1", "b-x"), image("b/10.jpeg", "0", "b"),
                       image("b/2.JPG", "0", "b"), image("b/deep/er.Jpeg", "0", "b"),
                       image("b/one.PNG", "0", "b")});
  CHECK(class_names(dir.path()) == std::vector<std::string>{"b", "b-x", "c"});
  CHECK(source_stage(data).get<std::string>("directory") == dir.path());
  CHECK(source_of(data).name() == "folder");
  CHECK(source_of(data).records_per_file() == std::vector<std::uint64_t>{5});
  const auto facts = source_of(data).facts();
  CHECK(facts.files == 1);
  CHECK(facts.bytes == 9 + 9 + 7 + 14 + 9);
  tar_writer::write(dir / "b/2.JPG", "longer than before");
  CHECK(source_of(image_folder(dir.path())).facts().digest != facts.digest);
  sample s;
  CHECK_THROWS_AS(read_one(source_of(data), 2, s), error);
}

TEST_CASE("a folder without classes or images is refused") {
  temporary_directory dir;
  CHECK(code_of(image_folder(dir / "nowhere")) == errc::not_found);
  CHECK_THROWS_AS(class_names(dir / "nowhere"), error);
  CHECK(code_of(image_folder(dir.path())) == errc::not_found);
  fs::create_directory(dir / "class");
  CHECK(code_of(image_folder(dir.path())) == errc::not_found);
}

TEST_CASE("counted records are their number, repeated and cut") {
  for (std::size_t bytes : {1, 7, 8, 9, 20, 4096, 4099, 150'528}) {
    CAPTURE(bytes);
    auto data = count(1'000'000'000'000, bytes);
    const std::uint64_t number = 0x0102030405;
    sample s;
    sample_access::reset(s, nullptr);
    source_of(data).read(number, s);
    auto value = s.view<std::uint8_t, 1>("value");
    REQUIRE(value.size() == bytes);
    for (std::size_t i = 0; i < bytes; ++i)
      REQUIRE(value[i] == (number >> (8 * (i % 8)) & 0xff));
    std::string id;
    source_of(data).append_id(number, id);
    CHECK(id == "count/" + std::to_string(number));
  }
  CHECK(source_stage(count(5)).get<std::uint64_t>("records") == 5);
  CHECK(source_stage(count(5, 9)).get<std::uint64_t>("bytes") == 9);
  CHECK(!(count(5, 9) == count(5, 8)));
  CHECK(count(0).size() == 0);
  CHECK_THROWS_AS(count(5, 0), error);
}

TEST_CASE("functions and vectors are sources") {
  auto squares =
      from_function("squares@1", 10, [](std::uint64_t i, sample& s) { s.set("square", i * i); });
  sample s;
  CHECK(read_one(source_of(squares), 7, s).id == "squares/7");
  CHECK(s.get<std::uint64_t>("square") == 49);
  CHECK(source_stage(squares).get<std::string>("name") == "squares@1");
  auto pairs = from_vector<float>("pairs@1", "xy", {1, 2, 3, 4, 5, 6}, {2});
  REQUIRE(pairs.size() == 3);
  read_one(source_of(pairs), 2, s);
  CHECK(s.view<float, 1>("xy")[0] == 5);
  CHECK(s.view<float, 1>("xy")[1] == 6);
  CHECK_THROWS_AS(from_function("", 1, [](std::uint64_t, sample&) {}), error);
  CHECK_THROWS_AS(from_function("x@1", 1, {}), error);
  CHECK_THROWS_AS(indexed("x@1", nullptr), error);
}

TEST_CASE("raw records are read by number") {
  temporary_directory dir;
  std::string bytes;
  for (std::int16_t i = 0; i < 60; ++i)
    bytes.append(reinterpret_cast<const char*>(&i), sizeof i);
  tar_writer::write(dir / "x.raw", bytes);
  auto data = raw_records(dir / "x.raw", dtype::i16, {2, 3});
  REQUIRE(data.size() == 10);
  sample s;
  CHECK(read_one(source_of(data), 9, s).id == "x.raw/9");
  CHECK(s.view<std::int16_t, 2>("value")(1, 2) == 59);
  CHECK(sample_access::take_bytes_read(s) == 12);
  CHECK(source_of(data).facts().bytes == 120);
  CHECK(source_stage(data).get<std::string>("type") == "i16");
  CHECK(source_stage(data).get<std::vector<std::uint64_t>>("dims")
        == std::vector<std::uint64_t>{2, 3});
  CHECK(code_of(raw_records(dir / "x.raw", dtype::u8, {7})) == errc::invalid_argument);
  CHECK(raw_records(dir / "x.raw", dtype::u8, {7}, {.drop_last = true}).size() == 17);
  CHECK(code_of(raw_records(dir / "none", dtype::u8, {7})) == errc::not_found);
  CHECK_THROWS_AS(raw_records(dir / "x.raw", dtype::u8, {0}), error);
  CHECK_THROWS_AS(raw_records(dir / "x.raw", dtype::u8, {1UL << 33, 1UL << 33}), error);
}

TEST_CASE("real photographs read as tar extracts them") {
  if (!fs::exists(test::photos_dir)) {
    WARN("no photographs at " << test::photos_dir << ": skipped");
    return;
  }
  temporary_directory dir;
  auto data = tar_shards(std::string{test::photos_dir} + "/*.tar", {.index_dir = dir / "i"});
  REQUIRE(data.size() == 300);
  CHECK(source_of(data).records_per_file() == std::vector<std::uint64_t>(6, 50));
  std::map<std::string, std::string> extracted;
  for (const auto& shard : fs::directory_iterator{test::photos_dir}) {
    if (shard.path().extension() != ".tar")
      continue;
    const auto name = shard.path().filename().string();
    fs::create_directory(dir / name);
    const auto command = "tar -xf '" + shard.path().string() + "' -C '" + (dir / name) + "'";
    REQUIRE(std::system(command.c_str()) == 0);
    for (const auto& x : fs::directory_iterator{dir / name})
      extracted[name + "/" + x.path().filename().string()] =
          read_whole_file(x.path(), 1 << 30, "test");
  }
  std::set<std::string> ids;
  for (const auto& x : read_all(source_of(data))) {
    ids.insert(x.id);
    texts names;
    for (const auto& [name, content] : x.fields) {
      names.push_back(name);
      // Not REQUIRE on the contents: a failure would print a photograph.
      const bool equal = extracted.at(x.id + "." + name) == content;
      REQUIRE(equal);
    }
    REQUIRE(names == texts{"jpg", "cls", "txt"});
  }
  CHECK(ids.size() == 300);
  CHECK(extracted.size() == 900);
}

} // namespace leat::sources_test
