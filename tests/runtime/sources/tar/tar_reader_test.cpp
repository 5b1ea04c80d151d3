#include "runtime/sources/tar/tar_reader.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/tar_writer.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

namespace leat::tar_reader_test {

using test::tar_writer;

namespace {

tar_reader reader_of(const std::string& bytes) {
  auto read = [&bytes](std::uint64_t offset, std::span<std::byte> into) {
    return bytes.copy(reinterpret_cast<char*>(into.data()), into.size(),
                      std::min<std::size_t>(offset, bytes.size()));
  };
  return {"x.tar", bytes.size(), read};
}

struct walked {
  std::vector<tar_member> members;
  std::optional<error> failure;
  bool lacks_end_mark = false;
};

walked walk(const std::string& bytes) {
  auto reader = reader_of(bytes);
  walked result;
  result.failure = problem_of([&] {
    while (auto x = reader.next())
      result.members.push_back(*x);
  });
  result.lacks_end_mark = result.failure && reader.lacks_end_mark();
  return result;
}

/// Checks how a walk fails, and how many members it finds before.
void check_failure(const std::string& bytes, const expected_error& want, std::size_t members = 0,
                   int line = __builtin_LINE()) {
  const auto x = walk(bytes);
  check_error([&] { throw error{x.failure.value()}; }, want, line);
  CHECK(x.members.size() == members);
}

std::vector<std::string> regular_paths(const walked& x) {
  std::vector<std::string> paths;
  for (const auto& member : x.members)
    if (member.regular)
      paths.push_back(member.path);
  return paths;
}

using paths = std::vector<std::string>;

} // namespace

TEST_CASE("a walk finds name, place and size of each member") {
  tar_writer tar;
  tar.file("a.jpg", std::string(513, 'x')).file("dir/b.cls", "").file("c", "7").end();
  auto x = walk(tar.bytes());
  REQUIRE(!x.failure);
  REQUIRE(regular_paths(x) == paths{"a.jpg", "dir/b.cls", "c"});
  CHECK(x.members[0].offset == 512);
  CHECK(x.members[0].size == 513);
  CHECK(x.members[1].offset == 512 + 1024 + 512);
  CHECK(x.members[1].size == 0);
  CHECK(tar.bytes().substr(x.members[2].offset, x.members[2].size) == "7");
}

TEST_CASE("names of all dialects are put together") {
  const std::string deep = std::string(90, 'd') + "/" + std::string(90, 'e') + ".jpg";
  tar_writer tar;
  tar.raw(tar_writer::header("leaf.jpg", 0, '0', tar_writer::dialect::ustar, "some/prefix"));
  tar.gnu_long(deep, "1").pax(deep + "2", "2").file("old", "3", '0', tar_writer::dialect::v7);
  tar.file(std::string(100, 'n'), "4");
  // A GNU header keeps times where POSIX has the prefix.
  tar.raw(tar_writer::header("gnu", 0, '0', tar_writer::dialect::gnu, "1234567")).end();
  auto x = walk(tar.bytes());
  REQUIRE(!x.failure);
  CHECK(regular_paths(x)
        == paths{"some/prefix/leaf.jpg", deep, deep + "2", "old", std::string(100, 'n'), "gnu"});
}

TEST_CASE("PAX names go before GNU names, and only the next member gets them") {
  tar_writer tar;
  tar.file("x", tar_writer::pax_record("path", "from/pax"), 'x');
  tar.gnu_long("from/gnu", "").file("plain", "");
  CHECK(regular_paths(walk(tar.bytes())) == paths{"from/pax", "plain"});
}

TEST_CASE("global PAX headers hold for all members until a member's own") {
  tar_writer tar;
  tar.file("g", tar_writer::pax_record("path", "all"), 'g').file("a", "1").pax("own", "2");
  tar.file("b", "3");
  CHECK(regular_paths(walk(tar.bytes())) == paths{"all", "own", "all"});
}

TEST_CASE("a PAX size replaces the header's") {
  tar_writer tar;
  tar.file("x", tar_writer::pax_record("size", "600"), 'x');
  tar.raw(tar_writer::header("big", 0)).raw(tar_writer::padded(std::string(600, 'b')));
  tar.file("next", "n");
  auto x = walk(tar.bytes());
  REQUIRE(regular_paths(x) == paths{"big", "next"});
  CHECK(x.members[0].size == 600);
}

TEST_CASE("links, devices and directories have no content") {
  tar_writer tar;
  for (char type : {'1', '2', '3', '4', '5', '6'})
    tar.raw(tar_writer::header("t", 4096, type)); // a size, but nothing follows
  tar.file("long link", "target", 'K').file("v7dir/", "", '0', tar_writer::dialect::v7);
  tar.file("volume", "label", 'V').file("contiguous", "c", '7').end();
  auto x = walk(tar.bytes());
  REQUIRE(!x.failure);
  CHECK(regular_paths(x) == paths{"contiguous"});
}

TEST_CASE("archives end with two zero blocks, or with one at the end, and without they are torn") {
  tar_writer tar;
  tar.file("a", "1");
  const auto body = tar.bytes();
  const std::string zeros(512, '\0');
  for (const auto& tail : {zeros, zeros + zeros, zeros + std::string(100, '\0'),
                           zeros + zeros + "what follows is not read"}) {
    CHECK(regular_paths(walk(body + tail)) == paths{"a"});
    CHECK(!walk(body + tail).failure);
  }
  for (const auto& tail : {std::string{}, std::string(1, '\0'), std::string(511, '\0')}) {
    check_failure(body + tail,
                  {.code = errc::torn_file, .offset = body.size(), .needed_has = "allow_torn=true"},
                  1);
    CHECK(walk(body + tail).lacks_end_mark);
  }
  CHECK(regular_paths(walk(body + zeros + body + zeros)) == paths{"a", "a"});
  CHECK(walk("").members.empty());
  CHECK(walk("").failure);
}

TEST_CASE("what follows the end mark is found behind its padding") {
  const auto whole = tar_writer{}.file("a", "1").end().bytes();
  const auto rest_of = [](const std::string& bytes) {
    auto reader = reader_of(bytes);
    while (reader.next())
      ;
    return reader.rest();
  };
  CHECK(!rest_of(whole));
  CHECK(!rest_of(whole + std::string(9000, '\0')));
  CHECK(!rest_of(whole.substr(0, whole.size() - 512)));
  CHECK(rest_of(whole + whole) == whole.size());
  CHECK(rest_of(whole + std::string(8192, '\0') + whole) == whole.size() + 8192);
  CHECK(rest_of(whole + std::string(100, '\0') + "x") == whole.size());
}

TEST_CASE("sizes above 8 GiB are read, and a missing content is a tear that says how much") {
  const auto size = (std::uint64_t{1} << 33) + 5;
  check_failure(tar_writer::header("huge.bin", size) + std::string(1000, 'x'),
                {.code = errc::torn_file,
                 .file = "x.tar",
                 .offset = 512,
                 .got = "1000 bytes",
                 .needed = std::to_string(size + 507) + " of member \"huge.bin\""},
                1);
}

TEST_CASE("a cut at any byte is a tear after the last whole header, or lacks the end mark") {
  tar_writer tar;
  tar.file("a.jpg", std::string(700, 'a')).gnu_long(std::string(120, 'n'), "b").pax("c.c", "cc");
  const auto whole = tar.bytes();
  std::vector<std::size_t> starts; // of contents
  std::vector<std::size_t> ends{0};
  for (const auto& x : walk(whole).members) {
    starts.push_back(x.offset);
    ends.push_back((x.offset + x.size + 511) / 512 * 512);
  }
  REQUIRE(ends.size() == 4);
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    CAPTURE(cut);
    auto x = walk(whole.substr(0, cut));
    // A member whose header is complete is named, and then found torn.
    const auto named = std::upper_bound(starts.begin(), starts.end(), cut) - starts.begin();
    REQUIRE(x.members.size() == static_cast<std::size_t>(named));
    const bool clean = std::find(ends.begin(), ends.end(), cut) != ends.end();
    REQUIRE(x.failure);
    REQUIRE(x.failure->code() == errc::torn_file);
    REQUIRE(x.lacks_end_mark == clean);
  }
}

TEST_CASE("damaged headers are tears") {
  auto good = tar_writer::header("a", 0);
  auto flipped = good;
  flipped[3] = 'x';
  auto octal = good;
  octal[130] = '9';
  tar_writer::seal(octal);
  auto negative = good;
  negative[124] = static_cast<char>(0xff);
  tar_writer::seal(negative);
  auto overflow = good;
  std::fill_n(overflow.begin() + 124, 12, static_cast<char>(0xbf));
  tar_writer::seal(overflow);
  for (const auto& bad : {flipped, octal, negative, overflow})
    check_failure(good + bad, {.code = errc::torn_file, .offset = 512}, 1);
}

TEST_CASE("a checksum may be a sum of unsigned or of signed characters, and of nothing else") {
  for (const int less : {0, 1, 256, 257, 512, 513}) { // two characters are negative if signed
    auto bytes = tar_writer::header("\xc3\xa9", 0, '0');
    const auto sum = std::stoi(bytes.substr(148, 6), nullptr, 8) - less;
    std::snprintf(bytes.data() + 148, 7, "%06o", static_cast<unsigned>(sum));
    CAPTURE(less);
    CHECK(walk(bytes + std::string(1024, '\0')).failure.has_value() == (less != 0 && less != 512));
  }
}

TEST_CASE("damaged PAX headers are tears") {
  for (std::string records :
       {"5", "99999999999999999999 path=a\n", "7 path=a\n", "0 path=a\n", "9 path a\n",
        "10 size=-1\n", "9999 path=a\n", "3 \n", "x path=a\n"}) {
    CAPTURE(records);
    check_failure(tar_writer{}.file("x", records, 'x').file("a", "").bytes(), {errc::torn_file});
  }
}

TEST_CASE("lengths beyond the limits are refused before anything is allocated") {
  for (auto [type, size] :
       {std::pair{'x', tar_reader::max_pax + 1}, std::pair{'L', tar_reader::max_path + 2}})
    check_failure(tar_writer::header("x", size, type) + std::string(2 << 20, 'x'),
                  {errc::torn_file});
}

TEST_CASE("sparse members are refused as unsupported") {
  tar_writer pax;
  pax.file("x", tar_writer::pax_record("GNU.sparse.major", "1"), 'x').file("a", "");
  for (const auto& bytes : {pax.bytes(), tar_writer::header("s", 0, 'S')})
    check_failure(bytes, {.code = errc::invalid_argument, .got_has = "sparse"});
}

} // namespace leat::tar_reader_test
