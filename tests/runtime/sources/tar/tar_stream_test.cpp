#include "runtime/sources/tar/tar_stream_source.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/drawn.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/in_threads.hpp"
#include "tests/support/linear_pipeline.hpp"
#include "tests/support/packing.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/sanitized.hpp"
#include "tests/support/source_reading.hpp"
#include "tests/support/stream_places.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/sources.hpp>
#include <leat/streams.hpp>

#include <sys/stat.h>

#include <atomic>
#include <fstream>
#include <thread>

namespace leat::tar_stream_test {

using namespace leat::test;

namespace {

using samples = std::vector<stream_sample>;
using names = std::vector<std::string>;

/// An archive of samples of all kinds, between members that belong to none.
tar_writer archive_of(std::mt19937& random, std::size_t count) {
  tar_writer tar;
  tar.raw(tar_writer::header("dir/", 0, '5'));
  for (std::size_t i = 0; i < count; ++i) {
    const auto key = "dir/" + std::string(random() % 150, 'k') + std::to_string(i / 2);
    const auto content = random_bytes(random, random() % 3000);
    if (random() % 4 == 0)
      tar.file(".hidden", random_bytes(random, random() % 2000));
    tar.pax(key + ".JPG", content);
    if (random() % 3 == 0)
      tar.file("readme", random_bytes(random, 700));
    if (random() % 2 == 0)
      tar.gnu_long(key + ".cls", std::to_string(i));
    if (random() % 5 == 0)
      tar.raw(std::string(512, '\0'));
  }
  return tar.file("README", random_bytes(random, 5000)).end();
}

/// What `tar_shards` reads.
samples indexed_samples(const std::string& path) {
  return read_all(source_of(tar_shards(path)));
}

/// The samples with another file name in their ids.
samples renamed(samples all, const std::string& from, const std::string& to) {
  for (auto& x : all)
    x.id.replace(0, from.size(), to);
  return all;
}

std::optional<errc> failure_of(const stream_source& from) {
  return code_of([&] { read_unit(from, 0); });
}

constexpr auto save = tar_writer::write;

/// The bytes as a file of that name has them.
std::string packed_for(const std::string& name, const std::string& bytes) {
  return name.ends_with("gz") ? gzip(bytes) : name.ends_with("zst") ? zstd(bytes) : bytes;
}

} // namespace

TEST_CASE("a tar stream has the samples of indexed shards, and resumes at every place") {
  temporary_directory dir;
  seeded_random random;
  archive_of(random, 60).save(dir / "a.tar");
  CHECK(read_stream(tar_stream_source{{dir / "a.tar"}}) == indexed_samples(dir / "a.tar"));
  archive_of(random, 3).save(dir / "b.tar");
  tar_writer{}.end().save(dir / "empty.tar");
  const tar_stream_source stream{{dir / "{a,empty,b}.tar"}};
  CHECK(stream.units() == 3);
  check_every_place(stream);
}

TEST_CASE(
    "packed tar files are read in whatever parts they were packed, and go on at every place") {
  temporary_directory dir;
  seeded_random random;
  const auto tar = archive_of(random, 25);
  tar.save(dir / "x.tar");
  const auto want = indexed_samples(dir / "x.tar");
  caught_notices notices;
  for (const std::size_t part : {0, 100, 512, 5000}) {
    CAPTURE(part);
    save(dir / "x.tar.gz", pack_in_parts(tar.bytes(), part, gzip));
    save(dir / "x.tgz", pack_in_parts(tar.bytes(), part, gzip));
    save(dir / "x.tar.zst", pack_in_parts(tar.bytes(), part, [](auto x) { return zstd(x); }));
    for (const std::string name : {"x.tar.gz", "x.tgz", "x.tar.zst"}) {
      CAPTURE(name);
      const tar_stream_source stream{{dir / name}};
      CHECK(read_stream(stream) == renamed(want, "x.tar", name));
      check_every_place(stream);
    }
  }
}

TEST_CASE("a field that comes again begins another sample, after every place") {
  temporary_directory dir;
  tar_writer tar;
  for (const auto* name : {"a.jpg", "a.cls", "a.jpg", "a.cls", "a.JPG", "b.jpg", "a.jpg"})
    tar.file(name, name);
  tar.end().save(dir / "x.tar");
  const tar_stream_source stream{{dir / "x.tar"}};
  CHECK(read_unit(stream, 0).size() == 5);
  CHECK(read_stream(stream) == indexed_samples(dir / "x.tar"));
  check_every_place(stream);
}

TEST_CASE("a record of a snapshot is unpacked from its own member, not through others") {
  temporary_directory dir;
  std::mt19937 random{8};
  // Larger than what a stream reads at once.
  std::vector<std::string> members;
  for (int i = 0; i < 3; ++i)
    members.push_back(
        gzip(tar_writer{}.file(std::to_string(i) + ".bin", random_bytes(random, 300'000)).bytes()));
  const auto path = dir / "x.tar.gz";
  members[2] += gzip(tar_writer{}.end().bytes());
  save(path, members[0] + members[1] + members[2]);
  const tar_stream_source stream{{path}};
  const auto records = read_unit(stream, 0);
  const auto want = read_record(stream, records[2]);
  read_record(stream, without_content(records[0]));
  members[1].replace(members[1].size() / 2, 1000, 1000, 'x');
  save(path, members[0] + members[1] + members[2]);
  // Reading on from the end of the first record would pass through what is damaged now.
  CHECK(read_record(stream, without_content(records[2])) == want);
}

TEST_CASE("resuming in a compressed file decompresses one member or frame again, and says so") {
  temporary_directory dir;
  tar_writer tar;
  for (int i = 0; i < 100; ++i)
    tar.file(std::to_string(i) + ".txt", std::string(1000, 'x'));
  constexpr std::uint64_t record = 512 + 1024;
  constexpr std::uint64_t part = 10 * record;
  save(dir / "parts.tar.gz", pack_in_parts(tar.bytes(), part, gzip));
  save(dir / "whole.tar.gz", gzip(tar.bytes()));
  auto notice_at = [&](const std::string& name, int number) {
    const tar_stream_source stream{{dir / name}};
    const auto reader = stream.open(0, {});
    stream_record x;
    for (int i = 0; i < number; ++i)
      reader->next(x);
    caught_notices notices;
    stream.open(0, reader->place());
    return notices.texts().empty() ? "" : notices.texts().at(0);
  };
  CHECK(notice_at("parts.tar.gz", 0).empty());
  CHECK(notice_at("parts.tar.gz", 40).empty());
  CHECK(notice_at("parts.tar.gz", 47).find("decompresses 10752 bytes of") == 0);
  CHECK(notice_at("whole.tar.gz", 47).find("decompresses 72192 bytes of") == 0);
}

TEST_CASE("only headers of plain tar files are read ahead") {
  temporary_directory dir;
  // A file with holes: reading its contents would take a minute.
  constexpr std::uint64_t huge = std::uint64_t{64} << 30;
  {
    std::ofstream out{dir / "huge.tar", std::ios::binary};
    for (std::uint64_t i = 0; i < 4; ++i) {
      out.seekp(static_cast<std::streamoff>(i * (huge + 512)));
      out << tar_writer::header(std::to_string(i) + ".bin", huge);
    }
    out.seekp(static_cast<std::streamoff>(4 * (huge + 512)));
    out << tar_writer{}.file("last.txt", "end").end().bytes();
  }
  const tar_stream_source stream{{dir / "huge.tar"}};
  const auto records = read_unit(stream, 0);
  REQUIRE(records.size() == 5);
  CHECK(records[2].length == huge + 512);
  CHECK(!records[2].content);
  CHECK(read_record(stream, records[4]) == stream_sample{"huge.tar/last", {{"txt", "end"}}});
}

TEST_CASE("streams of hundreds of lanes work with few unpackers") {
  temporary_directory dir;
  seeded_random random;
  names paths;
  for (int i = 0; i < 40; ++i) {
    paths.push_back(dir / (std::to_string(i) + (i % 2 == 0 ? ".tar.gz" : ".tar.zst")));
    const auto bytes = archive_of(random, 12).bytes();
    save(paths.back(), i % 2 == 0 ? pack_in_parts(bytes, 3000, gzip) : zstd(bytes));
  }
  const tar_stream_source plenty{paths};
  const auto want = read_stream(plenty);
  // There is room for about two unpackers, so each lane finds that its own was dropped.
  const tar_stream_source tight{paths, 300'000};
  std::vector<std::unique_ptr<unit_reader>> lanes;
  std::vector<samples> got(paths.size());
  for (std::uint64_t unit = 0; unit < tight.units(); ++unit)
    lanes.push_back(tight.open(unit, {}));
  for (bool any = true; any;) {
    any = false;
    for (std::size_t i = 0; i < lanes.size(); ++i)
      if (stream_record x; lanes[i]->next(x)) {
        got[i].push_back(read_record(tight, x));
        any = true;
      }
  }
  samples all;
  for (const auto& lane : got)
    all.insert(all.end(), lane.begin(), lane.end());
  CHECK(all == want);
}

TEST_CASE("many threads read records of a snapshot") {
  temporary_directory dir;
  seeded_random random;
  const auto bytes = archive_of(random, 30).bytes();
  save(dir / "0.tar", bytes);
  save(dir / "1.tar.gz", pack_in_parts(bytes, 5000, gzip));
  save(dir / "2.tar.zst", zstd(bytes));
  const tar_stream_source stream{{dir / "{0.tar,1.tar.gz,2.tar.zst}"}};
  std::vector<stream_record> records;
  for (std::uint64_t unit = 0; unit < 3; ++unit)
    for (const auto& x : read_unit(stream, unit))
      records.push_back(x);
  std::atomic<int> wrong = 0;
  const auto seed = random();
  in_threads(4, [&](unsigned t) {
    std::mt19937 mine{static_cast<unsigned>(seed) + t};
    for (int i = 0; i < 100; ++i) {
      const auto& x = records[mine() % records.size()];
      wrong += read_record(stream, without_content(x)) != read_record(stream, x);
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("global PAX headers hold after a place, too") {
  temporary_directory dir;
  tar_writer tar;
  tar.file("a.txt", "0");
  tar.file("g", tar_writer::pax_record("path", "all.txt"), 'g');
  for (int i = 0; i < 3; ++i)
    tar.file("x", std::to_string(i)).pax("own.txt", "o");
  tar.end();
  save(dir / "x.tar", tar.bytes());
  save(dir / "x.tar.gz", pack_in_parts(tar.bytes(), 512, gzip));
  caught_notices notices;
  for (const std::string name : {"x.tar", "x.tar.gz"}) {
    const tar_stream_source stream{{dir / name}};
    CHECK(read_stream(stream) == renamed(indexed_samples(dir / "x.tar"), "x.tar", name));
    check_every_place(stream);
  }
}

TEST_CASE("a tar file that is cut anywhere is torn, up to the middle of its end mark") {
  temporary_directory dir;
  tar_writer tar;
  tar.file("a.jpg", std::string(700, 'a')).file("a.cls", "1").pax("b.jpg", "bb");
  const auto end = tar.bytes().size();
  const auto whole = tar.end().bytes();
  for (std::size_t cut = 0; cut <= whole.size(); ++cut) {
    if (!is_drawn(cut) || (thread_sanitized && cut % 10 != 0))
      continue;
    CAPTURE(cut);
    for (const std::string name : {"x.tar", "x.tar.gz", "x.tar.zst"}) {
      save(dir / name, packed_for(name, whole.substr(0, cut)));
      const tar_stream_source stream{{dir / name}};
      if (cut >= end + tar_writer::block)
        CHECK(read_unit(stream, 0).size() == 2);
      else
        CHECK(failure_of(stream) == errc::torn_file);
    }
  }
}

TEST_CASE("a tar stream passes over what a shard passes over, and says so once") {
  temporary_directory dir;
  tar_writer tar;
  tar.file("a.jpg", "1").file("__MACOSX/a.jpg", "x").file("a.cls", "2").file("b.jpg", "", '1');
  tar.file("x/.y/z.jpg", "x").file("c.jpg", "3").file("c.txt", "4").end();
  const auto whole = tar.bytes();
  const auto two =
      whole + std::string(5 * 512, '\0') + tar_writer{}.file("d.jpg", "5").end().bytes();
  save(dir / "x.tar", two);
  save(dir / "x.tar.gz", gzip(two));
  save(dir / "y.tar.gz", gzip(whole) + gzip(two));
  caught_notices notices;
  const auto want = indexed_samples(dir / "x.tar");
  CHECK(want.size() == 2);
  REQUIRE(notices.texts().size() == 1);
  const auto rest = std::to_string(whole.size() + 5 * 512);
  CHECK(notices.texts()[0]
        == "passed over 1 hard link (x.tar: b.jpg), 1 archive that goes on after its end mark, as "
           "`cat a.tar b.tar` makes it (x.tar: 2048 bytes from byte "
               + rest + " on)");
  for (const std::string name : {"x.tar", "x.tar.gz", "y.tar.gz"}) {
    CAPTURE(name);
    const auto before = notices.texts().size();
    const tar_stream_source stream{{dir / name}};
    CHECK(read_stream(stream) == renamed(want, "x.tar", name));
    CHECK(notices.texts().size() == before + 1);
    CHECK(notices.texts().back().find("1 hard link (" + (dir / name) + ": b.jpg)")
          != std::string::npos);
    CHECK(notices.texts().back().find(" from byte ") != std::string::npos);
    check_every_place(stream);
    CHECK(notices.texts().size() >= before + 1);
  }
}

TEST_CASE("what follows the end mark of a tar stream may be damaged, or be no archive") {
  temporary_directory dir;
  auto whole = tar_writer{}.file("a.txt", "1").end().bytes();
  whole.resize(10240); // as archivers fill them up
  save(dir / "x.tar.gz", gzip(whole) + "no gzip");
  save(dir / "y.tar.zst", zstd(whole) + "no zstd");
  save(dir / "z.tar", whole + "no header");
  for (const std::string name : {"x.tar.gz", "y.tar.zst", "z.tar"}) {
    CAPTURE(name);
    caught_notices notices;
    const tar_stream_source stream{{dir / name}};
    CHECK(read_stream(stream).size() == 1);
    REQUIRE(notices.texts().size() == 1);
    CHECK(notices.texts()[0].find("goes on after its end mark") != std::string::npos);
  }
}

TEST_CASE("a compressed file that is cut anywhere, or damaged, is torn") {
  temporary_directory dir;
  std::mt19937 random{7};
  const auto bytes = archive_of(random, 4).bytes();
  for (const std::string name : {"x.tar.gz", "x.tar.zst"}) {
    const auto path = dir / name;
    auto whole = packed_for(name, bytes);
    for (std::size_t cut = 0; cut < whole.size(); cut += 1 + random() % 50) {
      CAPTURE(name, cut);
      save(path, whole.substr(0, cut));
      check_error([&] { read_unit(tar_stream_source{{path}}, 0); },
                  {.code = errc::torn_file, .file = path});
    }
    whole[whole.size() / 2] ^= 0x40;
    save(path, whole);
    CHECK(failure_of(tar_stream_source{{path}}) == errc::torn_file);
  }
}

TEST_CASE("lengths of members are not trusted in compressed files") {
  temporary_directory dir;
  for (const auto size : {std::uint64_t{1} << 20, std::uint64_t{1} << 29, std::uint64_t{1} << 40,
                          (std::uint64_t{1} << 62) + 5, ~std::uint64_t{0} >> 1}) {
    CAPTURE(size);
    for (const std::string name : {"a.bin", "ignored"}) {
      save(dir / "x.tar.gz", gzip(tar_writer::header(name, size) + std::string(2000, 'x')));
      const auto code = failure_of(tar_stream_source{{dir / "x.tar.gz"}});
      CHECK((code == errc::torn_file || code == errc::invalid_argument));
    }
  }
}

TEST_CASE("a file that changed after its record was found is refused") {
  temporary_directory dir;
  tar_writer{}.file("a.txt", "1").file("b.txt", "2").end().save(dir / "x.tar");
  const tar_stream_source stream{{dir / "x.tar"}};
  const auto records = read_unit(stream, 0);
  tar_writer{}.file("a.txt", "1").file("c.txt", "2").end().save(dir / "x.tar");
  CHECK(read_record(stream, records[0]).fields.size() == 1);
  CHECK_THROWS_AS(read_record(stream, records[1]), error);
  save(dir / "x.tar", "");
  CHECK_THROWS_AS(read_record(stream, records[0]), error);
}

TEST_CASE("a pipe is read once, from its beginning, compressed or not") {
  temporary_directory dir;
  seeded_random random;
  const auto tar = archive_of(random, 10);
  tar.save(dir / "file.tar");
  for (const std::string name : {"pipe.tar", "pipe.tar.gz", "pipe.tar.zst"}) {
    CAPTURE(name);
    REQUIRE(::mkfifo((dir / name).c_str(), 0600) == 0);
    const tar_stream_source stream{{dir / name}};
    std::thread writer{[&] { save(dir / name, packed_for(name, tar.bytes())); }};
    const auto unread = stream.open(0, {});
    const auto due = renamed(indexed_samples(dir / "file.tar"), "file.tar", name);
    auto records = read_unit(stream, 0);
    writer.join();
    for (int i = 0; i < 2; ++i) { // the first reader gives it back
      samples got;
      for (const auto& x : records)
        got.push_back(read_record(stream, x));
      CHECK(got == due);
      if (i == 0)
        records = read_unit(stream, 0);
    }
    const expected_error refused{
        .code = errc::invalid_argument, .file = dir / name, .needed_has = "once"};
    const stream_place second{1, records[1].offset, ""};
    check_error([&] { stream.open(0, second); }, refused);
    check_error([&] { read_unit(stream, 0); }, refused);
    check_error([&] { read_record(stream, without_content(records[0])); }, refused);
  }
}

TEST_CASE("facts of a stream are the names and sizes of its files") {
  temporary_directory dir;
  tar_writer{}.file("a.txt", "1").save(dir / "a.tar");
  tar_writer{}.file("a.txt", "1").file("b.txt", "2").save(dir / "b.tar");
  const auto facts = tar_stream_source{{dir / "*.tar"}}.facts();
  CHECK(facts.files == 2);
  CHECK(facts.records == 0);
  CHECK(facts.bytes == 1024 + 2048);
  CHECK(to_string(facts.digest) == "d1069f031c4a9e30999f5222d16c8773");
}

TEST_CASE("a tar stream is a pipeline with all of its options") {
  temporary_directory dir;
  tar_writer{}.file("a.txt", "1").end().save(dir / "a.tar");
  const auto x = tar_stream(dir / "a.tar", {.order = file_order::shuffled, .seed = 5});
  CHECK(x.root().op == "tar_stream");
  CHECK(x.root().options
        == std::vector<node_option>{{"patterns", names{dir / "a.tar"}},
                                    {"file_order", std::string{"shuffled"}},
                                    {"seed", std::uint64_t{5}}});
  CHECK(read_stream(*stream_of(x)) == samples{{"a.tar/a", {{"txt", "1"}}}});
  CHECK_THROWS_AS(stream_of(tar_stream(dir / "none.tar")), error);
}

} // namespace leat::tar_stream_test
