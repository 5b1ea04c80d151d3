#include "runtime/base/threads/patience.hpp"
#include "runtime/sources/index_files.hpp"
#include "runtime/sources/tar/tar_index.hpp"
#include "runtime/storage/file_descriptor.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/in_threads.hpp"
#include "tests/support/other_program.hpp"
#include "tests/support/seal_index.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/notice.hpp>
#include <leat/patience.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <stdexcept>
#include <thread>

namespace leat::tar_index_test {

using namespace leat::test;

namespace {

namespace fs = std::filesystem;
using texts = std::vector<std::string>;

/// Keys and field names of an index, "key name ..." per record; with places "name@offset+size".
texts names_of(const tar_index& x, bool with_places = false) {
  texts lines;
  for (std::uint64_t i = 0; i < x.size(); ++i) {
    lines.emplace_back(x.key(i));
    for (const auto& field : x.fields(i)) {
      lines.back() += " " + std::string{x.name(field)};
      if (with_places)
        lines.back() += "@" + std::to_string(field.offset()) + "+" + std::to_string(field.size);
    }
  }
  return lines;
}

texts describe(const tar_index& x) {
  return names_of(x, true);
}

/// Shards of a sample each, "0.tar" and so on.
texts write_shards(const temporary_directory& dir, int n) {
  texts shards;
  for (int i = 0; i < n; ++i) {
    shards.push_back(dir / (std::to_string(i) + ".tar"));
    tar_writer{}.file("k" + std::to_string(i) + ".jpg", "x").end().save(shards.back());
  }
  return shards;
}

/// The index with places of no row, as another one reads it.
tar_index reread(const tar_index& x, std::size_t fields) {
  const std::vector<std::vector<std::byte>> none(fields);
  const surveyed_places places{{none, none}};
  return tar_index::adopt(held(x.with_places(places)), x.shard()).value();
}

/// A shard of its own, and a directory for its index.
struct shard_fixture {
  temporary_directory dir;
  std::string shard = dir / "a.tar";
  tar_options options{.index_dir = dir / "index"};
  std::string index_path = index_paths(shard, options.index_dir).at(0);

  shard_fixture() { write({"a", "b"}); }

  void write(const texts& keys) const {
    tar_writer tar;
    for (const auto& key : keys)
      tar.file(key + ".jpg", "picture of " + key).file(key + ".cls", "7");
    tar.end().save(shard);
  }

  void set_time(std::int64_t seconds) const {
    const timespec times[2]{{seconds, 5}, {seconds, 5}};
    REQUIRE(::utimensat(AT_FDCWD, shard.c_str(), times, 0) == 0);
  }

  tar_index open() const { return open_tar_index(shard, options); }
};

/// Builds the index of an archive in memory.
tar_index index_of(const std::string& bytes, bool allow_torn = false) {
  temporary_directory dir;
  tar_writer::write(dir / "x.tar", bytes);
  return open_tar_index(dir / "x.tar", {.index_dir = dir / "i", .allow_torn = allow_torn});
}

} // namespace

TEST_CASE("neighbouring members with one key are a record") {
  tar_writer tar;
  tar.file("./a.jpg", "1").file("a.cls", "2").file("d.x/b.SEG.Png", "3").file("d.x/b.CLS", "4");
  tar.file("a.jpg", "5").end();
  CHECK(names_of(index_of(tar.bytes())) == texts{"a jpg cls", "d.x/b seg.png cls", "a jpg"});
}

TEST_CASE("members without key or field are passed over and end no record") {
  tar_writer tar;
  tar.file("a.jpg", "1").file("README", "x").file(".hidden.jpg", "x").file("dir/.x", "x");
  tar.file("end.", "x").file("dir.d/", "", '5').file("l.jpg", "", '2').file("a.cls", "2").end();
  CHECK(names_of(index_of(tar.bytes())) == texts{"a jpg cls"});
}

TEST_CASE("a field that comes again begins the next record") {
  tar_writer tar;
  tar.file("a.jpg", "1").file("a.JPG", "2").file("a.cls", "3").end();
  CHECK(names_of(index_of(tar.bytes())) == texts{"a jpg", "a jpg cls"});
}

TEST_CASE("members of one key that are not neighbours are said, with two of them") {
  temporary_directory dir;
  tar_writer tar;
  tar.file("a.jpg", "1").file("b.jpg", "2").file("a.cls", "3").file("b.cls", "4").end();
  tar.save(dir / "x.tar");
  for (int opening = 0; opening < 2; ++opening) { // the second one loads what the first has stored
    const auto index = open_tar_index(dir / "x.tar", {.index_dir = dir / "i"});
    CHECK(
        index.apart()
        == "2 samples have ids of earlier ones (a.cls after a.jpg, ...): the members of a key must "
           "be neighbours, of different names; tar --sort=name makes them neighbours");
    CHECK(reread(index, 4).apart() == index.apart());
  }
  CHECK(index_of(tar_writer{}.file("a.jpg", "1").file("b.jpg", "2").end().bytes()).apart().empty());
  CHECK(
      index_of(tar_writer{}.file("a.jpg", "1").file("a.jpg", "2").end().bytes()).apart()
      == "1 sample has the id of an earlier one (a.jpg after a.jpg): the members of a key must be "
         "neighbours, of different names; tar --sort=name makes them neighbours");
}

TEST_CASE("hidden members are passed over wherever a part of their path is hidden") {
  tar_writer tar;
  tar.file("a.jpg", "1").file("__MACOSX/a.jpg", "x").file("x/.y/z.jpg", "x").file("._a.jpg", "x");
  tar.file("@eaDir/a.jpg/b.jpg", "x").file("a.cls", "2").file("d/Thumbs.db", "x");
  tar.file("desktop.ini", "x").file("../b.jpg", "3").file("./c/./d.jpg", "4").end();
  const auto index = index_of(tar.bytes());
  CHECK(names_of(index) == texts{"a jpg cls", "../b jpg", "c/./d jpg"});
  REQUIRE(index.others().entries().size() == 1);
  CHECK(index.others().entries()[0]
        == passed_over_entry{passed_over_reason::hidden, 6, "__MACOSX/a.jpg"});
  CHECK(index.others().notice_text().empty());
}

TEST_CASE("what is passed over is counted with its reason, and stored") {
  temporary_directory dir;
  tar_writer tar;
  tar.file("a.jpg", "1").file("b.jpg", "", '1').file("c.jpg", "", '2').file("d.jpg", "", '1');
  tar.file("p", "", '6').file("dir/", "", '5').file("README", "x").file(".x", "").end();
  const auto end = tar.bytes().size();
  tar.raw(std::string(3 * 512, '\0')).file("e.jpg", "2").end();
  tar.save(dir / "x.tar");
  const std::vector<passed_over_entry> want{
      {passed_over_reason::hidden, 1, ".x"},
      {passed_over_reason::hard_link, 2, "b.jpg"},
      {passed_over_reason::symbolic_link, 1, "c.jpg"},
      {passed_over_reason::special, 1, "p"},
      {passed_over_reason::nameless, 1, "README"},
      {passed_over_reason::rest, 1,
       "2048 bytes from byte " + std::to_string(end + 3 * 512) + " on"}};
  for (int opening = 0; opening < 2; ++opening) { // the second one loads what the first has stored
    const auto index = open_tar_index(dir / "x.tar", {.index_dir = dir / "i"});
    CHECK(names_of(index) == texts{"a jpg"});
    CHECK(index.others().entries() == want);
    CHECK(reread(index, 1).others() == index.others());
  }
}

TEST_CASE("an empty archive has an index without records, and a file of 0 bytes is torn") {
  CHECK(index_of(tar_writer{}.end().bytes()).size() == 0);
  CHECK_THROWS_AS(index_of(""), error);
  CHECK(index_of("", true).size() == 0);
  CHECK(!index_of("", true).tear().empty());
}

TEST_CASE("an index is stored, and a stored one is used") {
  shard_fixture f;
  const auto first = describe(f.open());
  CHECK(first == texts{"a jpg@512+12 cls@1536+1", "b jpg@2560+12 cls@3584+1"});
  REQUIRE(fs::exists(f.index_path));
  const auto inode = [&] {
    struct stat x {};
    ::stat(f.index_path.c_str(), &x);
    return x.st_ino;
  };
  const auto before = inode();
  CHECK(describe(f.open()) == first);
  CHECK(inode() == before);
}

TEST_CASE("an index of another size, or of another time, is rebuilt") {
  shard_fixture f;
  f.set_time(1000);
  f.open();
  f.write({"a", "b", "c"});
  f.set_time(1000);
  CHECK(names_of(f.open()) == texts{"a jpg cls", "b jpg cls", "c jpg cls"});
  f.write({"x", "y", "z"});
  f.set_time(1001);
  CHECK(names_of(f.open()) == texts{"x jpg cls", "y jpg cls", "z jpg cls"});
}

TEST_CASE("an index with any byte changed, cut or added is rebuilt") {
  shard_fixture f;
  const auto want = describe(f.open());
  const auto good = read_file(f.index_path);
  auto check = [&](const std::string& bytes) {
    tar_writer::write(f.index_path, bytes);
    REQUIRE(describe(f.open()) == want);
    REQUIRE(read_file(f.index_path) == good);
  };
  for (std::size_t i = 0; i < good.size(); ++i) {
    CAPTURE(i);
    auto bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x41);
    check(bad);
    check(good.substr(0, i));
  }
  check(good + '\0');
}

TEST_CASE("an index beside the shard is preferred, and the cache comes second") {
  temporary_directory dir;
  ::setenv("XDG_CACHE_HOME", (dir / "cache").c_str(), 1);
  CHECK(index_paths("/a/x.tar", "").at(0) == "/a/x.tar.leat-index");
  const auto cached = index_paths("/a/x.tar", "").at(1);
  CHECK(cached.starts_with(dir / "cache/leat/"));
  CHECK(index_paths("/b/x.tar", "").at(1) != cached);
  tar_writer{}.file("a.jpg", "1").end().save(dir / "x.tar");
  open_tar_index(dir / "x.tar", {});
  CHECK(fs::exists(dir / "x.tar.leat-index"));
  CHECK(!fs::exists(dir / "cache"));

  SECTION("where the shard's directory takes no file") {
    // Not even root can create files in /proc/self/fd.
    const auto fd = ::open((dir / "x.tar").c_str(), O_RDONLY);
    const auto shard = "/proc/self/fd/" + std::to_string(fd);
    CHECK(names_of(open_tar_index(shard, {})) == texts{"a jpg"});
    CHECK(fs::exists(index_paths(shard, "").at(1)));
    ::setenv("XDG_CACHE_HOME", "/proc/self/fd", 1);
    CHECK(names_of(open_tar_index(shard, {})) == texts{"a jpg"});
    ::close(fd);
  }
  ::unsetenv("XDG_CACHE_HOME");
}

TEST_CASE("the mode of an index follows the umask") {
  for (const mode_t mask : {0022, 0077, 0027}) {
    temporary_directory dir;
    tar_writer{}.file("a.jpg", "1").end().save(dir / "x.tar");
    const auto before = ::umask(mask);
    open_tar_index(dir / "x.tar", {});
    ::umask(before);
    const auto mode = fs::status(dir / "x.tar.leat-index").permissions();
    CHECK(static_cast<mode_t>(mode) == (0644U & ~mask));
  }
}

TEST_CASE("processes and threads may build one index at the same time") {
  shard_fixture f;
  const auto want = describe(f.open());
  for (int round = 0; round < 5; ++round) {
    fs::remove_all(f.options.index_dir);
    std::vector<pid_t> children;
    for (int i = 0; i < 4; ++i) {
      children.push_back(::fork());
      if (children.back() == 0)
        ::_exit(describe(f.open()) == want ? 0 : 1);
    }
    std::vector<int> good(4);
    in_threads(4, [&](unsigned i) { good[i] = describe(f.open()) == want; });
    CHECK(good == std::vector<int>(4, 1));
    for (auto child : children) {
      int status = 1;
      ::waitpid(child, &status, 0);
      CHECK(status == 0);
    }
    // There is only the index: no temporary file is left.
    CHECK(std::distance(fs::directory_iterator{f.options.index_dir}, {}) == 1);
  }
}

TEST_CASE("a tear anywhere leaves the records before it, for those who allow it") {
  tar_writer tar;
  for (std::string key : {"a", "b", "c"})
    tar.file(key + ".jpg", std::string(600, 'x')).file(key + ".cls", "7");
  const auto whole = tar.bytes();
  const std::size_t record = whole.size() / 3;
  REQUIRE(record == 512 + 1024 + 512 + 512);
  std::vector<std::size_t> cuts; // inside headers, contents and paddings, and at their borders
  for (std::size_t block = 0; block < whole.size(); block += 512)
    for (std::size_t byte : {0, 1, 100, 511})
      cuts.push_back(block + byte);
  for (auto cut : cuts) {
    CAPTURE(cut);
    const auto bytes = whole.substr(0, cut);
    const auto behind = cut % record;
    const auto problem = problem_of([&] { index_of(bytes); }).value();
    REQUIRE(problem.code() == errc::torn_file);
    REQUIRE(problem.details().offset.value() <= cut);
    auto index = index_of(bytes, true);
    REQUIRE(!index.tear().empty());
    const auto complete = cut / record;
    if (behind == 0 || behind == 512 + 1024) { // between members: the last record may be incomplete
      REQUIRE(index.size() == (behind == 0 ? complete : complete + 1));
      continue;
    }
    // A tear in a header drops the record before it, which might continue after it.
    REQUIRE(index.size() == (behind < 512 && complete > 0 ? complete - 1 : complete));
  }
}

TEST_CASE("an index of a torn shard is refused again where tears are not allowed") {
  shard_fixture f;
  fs::resize_file(f.shard, 2700);
  auto allowed = f.options;
  allowed.allow_torn = true;
  auto first = open_tar_index(f.shard, allowed);
  CHECK(names_of(first) == texts{"a jpg cls"});
  auto again = open_tar_index(f.shard, allowed);
  CHECK(names_of(again) == texts{"a jpg cls"});
  CHECK(std::string{again.tear()} == std::string{first.tear()});
  CHECK(again.tear().find("b.jpg") != std::string_view::npos);
  CHECK_THROWS_AS(f.open(), error);
}

TEST_CASE("records after a member of more than 8 GiB are found") {
  temporary_directory dir;
  const auto size = (std::uint64_t{1} << 33) + 4711;
  const auto path = dir / "huge.tar";
  tar_writer::write(path, tar_writer::header("a.bin", size));
  const auto second = 512 + (size + 511) / 512 * 512;
  std::error_code failed;
  fs::resize_file(path, second, failed);
  REQUIRE(!failed);
  {
    std::ofstream out{path, std::ios::binary | std::ios::app};
    out << tar_writer{}.file("b.txt", "behind").end().bytes();
  }
  CHECK(describe(open_tar_index(path, {.index_dir = dir / "i"}))
        == texts{"a bin@512+" + std::to_string(size),
                 "b txt@" + std::to_string(second + 512) + "+6"});
}

TEST_CASE("shards are indexed in order, and the first bad one is named") {
  temporary_directory dir;
  const auto shards = write_shards(dir, 20);
  auto indexes = open_tar_indexes(shards, {.index_dir = dir / "i"});
  REQUIRE(indexes.size() == 20);
  for (int i = 0; i < 20; ++i)
    CHECK(indexes[i].key(0) == "k" + std::to_string(i));
  fs::resize_file(shards[5], 600);
  fs::resize_file(shards[15], 600);
  check_error([&] { open_tar_indexes(shards, {.index_dir = dir / "i"}); },
              {.code = errc::torn_file, .file = shards[5]});
}

TEST_CASE("as many threads open shards as wait for the store, within the limit of descriptors") {
  CHECK(opening_threads(1000, 2, 1024) == 8);
  CHECK(opening_threads(3, 2, 1024) == 3);
  CHECK(opening_threads(1000, 256, 1u << 20) == 64);
  CHECK(opening_threads(1000, 256, 256) == 32);
  CHECK(opening_threads(1000, 256, 5) == 1);
  CHECK(opening_threads(1000, 0, 1024) == 1);
  CHECK(opening_threads(0, 8, 1024) == 1);
  CHECK(descriptor_limit() > 0);
}

TEST_CASE("what the handler of progress throws comes out of the opening") {
  temporary_directory dir;
  const auto shards = write_shards(dir, 20);
  set_progress_handler([](const progress&) { throw std::runtime_error("enough"); });
  CHECK_THROWS_WITH(open_tar_indexes(shards, {.index_dir = dir / "i"}), "enough");
  set_progress_handler({});
}

TEST_CASE("a caller may give up the opening of shards, which can then be opened again") {
  temporary_directory dir;
  const auto shards = write_shards(dir, 200);
  const auto caller = std::this_thread::get_id();
  bool gave_up = false;
  for (int i = 0; i < 50 && !gave_up; ++i) { // others may open all before the caller is asked
    const tar_options options{.index_dir = dir / std::to_string(i)};
    int asked = 0;
    try {
      const patience waits{[&] {
                             CHECK(std::this_thread::get_id() == caller);
                             return ++asked < 2;
                           },
                           std::chrono::milliseconds{0}};
      open_tar_indexes(shards, options);
    } catch (const patience_ended&) {
      gave_up = true;
    }
    CHECK(gave_up == (asked >= 2));
    CHECK(open_tar_indexes(shards, options).size() == 200);
  }
  CHECK(gave_up);
}

TEST_CASE("progress reports every shard that is opened, one after the other") {
  temporary_directory dir;
  const auto shards = write_shards(dir, 50);
  std::vector<std::uint64_t> told;
  set_progress_handler([&](const progress& now) {
    CHECK(now.all == 50);
    CHECK(now.what == "shards opened");
    told.push_back(now.done);
  });
  open_tar_indexes(shards, {.index_dir = dir / "i"});
  set_progress_handler({});
  std::vector<std::uint64_t> all(50);
  std::iota(all.begin(), all.end(), 1);
  CHECK(told == all);
}

} // namespace leat::tar_index_test
