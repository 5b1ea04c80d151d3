#include "runtime/sources/feed/feed_identity.hpp"
#include "runtime/sources/journal/journal.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

namespace leat::feed_identity_test {
namespace {

feed_identity named(std::string name, std::uint64_t id = 7) {
  return {.stream = {std::move(name), {id, 8}}, .format = feed_format::samples};
}

TEST_CASE("feed_identity: whatever byte of the file is wrong or missing, it is refused") {
  auto own = named("queue");
  own.ended_at = 1000;
  own.has_places = true;
  const auto bytes = encode(own);
  REQUIRE(decode_feed_identity(bytes, "feed") == own);
  const auto code = [](const std::string& x) {
    return code_of([&] { decode_feed_identity(x, "feed"); });
  };
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    CAPTURE(i);
    CHECK(code(bytes.substr(0, i)) == errc::torn_file);
    auto forged = bytes;
    forged[i] = static_cast<char>(forged[i] ^ 1);
    CHECK(code(forged) == errc::torn_file);
  }
  CHECK(code(bytes + "x") == errc::torn_file);
  CHECK(code("") == errc::torn_file);
}

TEST_CASE("feed_identity: a directory belongs to the feed that began it, with its records") {
  const test::temporary_directory at;
  const auto own = named("queue");
  CHECK(identity_in(at.path(), own, 0) == own);
  // Another process of the feed has drawn other bits, and takes those of the records.
  CHECK(identity_in(at.path(), named("queue", 9), 5) == own);
  const auto other = thrown_by([&] { identity_in(at.path(), named("socket"), 5); });
  CHECK(other.code() == errc::mismatch);
  CHECK(has(other.what(), "samples of feed \"queue\""));
  auto lines = own;
  lines.format = feed_format::lines;
  CHECK(code_of([&] { identity_in(at.path(), lines, 5); }) == errc::mismatch);
}

TEST_CASE("feed_identity: records with places and those without are not taken for each other") {
  const bool has_places = GENERATE(false, true);
  const test::temporary_directory at;
  auto own = named("queue");
  own.has_places = has_places;
  CHECK(identity_in(at.path(), own, 0) == own);
  CHECK(identity_in(at.path(), own, 5) == own);
  own.has_places = !has_places;
  const auto other = thrown_by([&] { identity_in(at.path(), own, 5); });
  CHECK(other.code() == errc::mismatch);
  CHECK(has(other.what(), "samples of a queue or of files of feed \"queue\""));
}

TEST_CASE("feed_identity: a journal of no feed is none of a feed") {
  const test::temporary_directory at;
  {
    journal plain{at.path(), {.format = record_format::frames}};
    plain.append("record");
  }
  const journal again{at.path(), {.format = record_format::frames}};
  CHECK(code_of([&] { identity_in(at.path(), named("queue"), again.next()); }) == errc::mismatch);
  CHECK_FALSE(std::filesystem::exists(at / "feed"));
  // But of one that continues a job of one process.
  const auto own = named("queue");
  CHECK(identity_in(at.path(), own, again.next(), true) == own);
  CHECK(identity_in(at.path(), named("queue", 9), again.next()) == own);
}

TEST_CASE("feed_identity: an end is kept, and so is the number of records that it came after") {
  const test::temporary_directory at;
  auto own = identity_in(at.path(), named("queue"), 0);
  note_end_of_feed(at.path(), own, 12);
  CHECK(identity_in(at.path(), named("queue", 9), 12).ended_at == 12);
  for (const std::uint64_t records : {11, 13})
    CHECK(code_of([&] { identity_in(at.path(), named("queue"), records); }) == errc::mismatch);
}

TEST_CASE("feed_identity: a journal continues with the file in its directory") {
  const test::temporary_directory at;
  for (std::uint64_t i = 0; i < 3; ++i) {
    journal records{at.path(), {.format = record_format::frames}};
    CHECK(records.next() == i);
    CHECK(identity_in(at.path(), named("queue", i), i).stream.id == hash128{0, 8});
    records.append("record");
  }
}

} // namespace
} // namespace leat::feed_identity_test
