#include "runtime/base/text.hpp"
#include "runtime/sample/sample_access.hpp"
#include "runtime/sources/lines/line_reader.hpp"
#include "runtime/sources/lines/line_source.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/packing.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/stream_places.hpp"
#include "tests/support/stream_reading.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/streams.hpp>

#include <sys/stat.h>

#include <filesystem>
#include <span>
#include <thread>
#include <utility>

namespace leat::line_source_test {

using namespace leat::test;

namespace {

using samples = std::vector<stream_sample>;
using texts = std::vector<std::string>;

line_source lines_of(const texts& paths, std::uint64_t ranges = 1) {
  return {"lines", paths, ranges, text_lines()};
}

constexpr auto save = tar_writer::write;

/// Packed in parts of this size, as the name says; in one part if it is 0.
std::string packed_for(const std::string& name, const std::string& text, std::size_t part = 0) {
  return name.ends_with("gz")    ? pack_in_parts(text, part, gzip)
         : name.ends_with("zst") ? pack_in_parts(text, part, [](auto x) { return zstd(x); })
                                 : text;
}

/// The lines of a text, found in the simplest way, with the ids of a file "x.txt".
samples split(std::string_view text, bool by_offset) {
  samples all;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto number = by_offset ? "@" + std::to_string(begin) : std::to_string(all.size());
    const auto end = std::min(text.find('\n', begin), text.size());
    all.push_back({"x.txt/" + number, {{"text", std::string{text.substr(begin, end - begin)}}}});
    begin = end + 1;
  }
  return all;
}

std::string random_text(std::mt19937& random, std::size_t size) {
  std::string text(size, 'x');
  for (auto& c : text)
    c = random() % 4 == 0 ? '\n' : static_cast<char>('a' + random() % 26);
  return text;
}

} // namespace

TEST_CASE("lines end with newlines, the last needs none, nothing else is taken away") {
  temporary_directory dir;
  auto read = [&](std::string_view text) {
    save(dir / "x.txt", text);
    texts lines;
    for (const auto& x : read_stream(lines_of({dir / "x.txt"})))
      lines.push_back(x.fields.at(0).second);
    return lines;
  };
  CHECK(read("").empty());
  CHECK(read("\n") == texts{""});
  for (const auto* text : {"a", "a\n"})
    CHECK(read(text) == texts{"a"});
  CHECK(read("a\n\nb") == texts{"a", "", "b"});
  CHECK(read("a\r\nb\r\n") == texts{"a\r", "b\r"});
  CHECK(read(std::string_view{"\0\xff\n\xef\xbb\xbf", 6})
        == texts{std::string{"\0\xff", 2}, "\xef\xbb\xbf"});
}

TEST_CASE("blank lines of JSON are no records, and other lines keep their numbers and places") {
  temporary_directory dir;
  seeded_random random;
  const texts blanks{"", " ", "\t \r", "\r", std::string(70'000, ' '), std::string(300, '\t')};
  const texts objects{R"({"a": 1})", " {}", "\t" + std::string(600, ' ') + R"({"a": [1, 2]} )",
                      R"({"text": ")" + std::string(70'000, 'x') + "\"}"};
  for (int round = 0; round < 60; ++round) {
    std::string text;
    for (std::size_t i = random() % 20; i > 0; --i) {
      const auto& from = random() % 2 == 0 ? blanks : objects;
      text += from[random() % from.size()] + '\n';
    }
    if (random() % 2 == 0 && !text.empty())
      text.pop_back();
    const auto is_record = [&](const stream_record& x) {
      return !is_blank(std::string_view{text}.substr(x.offset, x.length));
    };
    for (const std::string name : {"x.txt", "x.txt.gz", "x.txt.zst"}) {
      save(dir / name, packed_for(name, text));
      for (const std::uint64_t ranges : {1, 3}) {
        CAPTURE(round, name, ranges, text.size());
        if (ranges > 1 && name != "x.txt")
          continue;
        const line_source json{"json_lines", {dir / name}, ranges, json_object_lines()};
        for (std::uint64_t unit = 0; unit < ranges; ++unit) {
          auto want = read_unit(lines_of({dir / name}, ranges), unit);
          std::erase_if(want, [&](const auto& x) { return !is_record(x); });
          const auto got = read_unit(json, unit);
          REQUIRE(std::equal(got.begin(), got.end(), want.begin(), want.end(), same_record));
        }
        if (round < 10)
          check_every_place(json);
      }
    }
  }
}

TEST_CASE("a bad line is named by its number, and in the middle of a file by its first byte") {
  temporary_directory dir;
  save(dir / "x.txt", "\n{}\n{]\n{]\n");
  const auto texts_of_bad = [&](std::uint64_t ranges) {
    const line_source source{"json_lines", {dir / "x.txt"}, ranges, json_object_lines()};
    texts all;
    for (std::uint64_t unit = 0; unit < ranges; ++unit)
      for (const auto& record : read_unit(source, unit))
        if (const auto x = bad_sample_of([&] { (void)read_record(source, record); })) {
          CHECK(x->first == cause::corrupt);
          all.push_back(x->second.substr(0, x->second.find(": syntax error")));
        }
    return all;
  };
  const std::string why = ": parse error at column 2";
  CHECK(texts_of_bad(1) == texts{"line 3" + why, "line 4" + why});
  CHECK(texts_of_bad(2) == texts{"line 3" + why, "the line at byte 7" + why});
}

TEST_CASE("ranges of a file have its lines, each once and in order, however they are cut") {
  temporary_directory dir;
  seeded_random random;
  for (std::size_t size = 0; size < 40; ++size) {
    const auto text = random_text(random, size);
    save(dir / "x.txt", text);
    for (std::uint64_t ranges = 1; ranges <= 9; ++ranges) {
      CAPTURE(text, ranges);
      const auto source = lines_of({dir / "x.txt"}, ranges);
      REQUIRE(source.units() == ranges);
      REQUIRE(read_stream(source) == split(text, ranges > 1));
      for (std::uint64_t r = 0; r < ranges; ++r)
        for (const auto& x : read_unit(source, r)) {
          REQUIRE(x.offset >= size * r / ranges);
          REQUIRE(x.offset < size * (r + 1) / ranges);
        }
    }
  }
}

TEST_CASE("lines resume at every place, in whole files and in ranges") {
  temporary_directory dir;
  std::mt19937 random{5};
  save(dir / "a.txt", random_text(random, 150));
  save(dir / "b.txt", "");
  save(dir / "c.txt", "one\ntwo");
  for (const std::uint64_t ranges : {1, 2, 5, 40})
    check_every_place(lines_of({dir / "*.txt"}, ranges));
}

TEST_CASE("lines across blocks are found") {
  temporary_directory dir;
  std::mt19937 random{6};
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += std::string(random() % 9000, static_cast<char>('a' + i % 26)) + "\n";
  text += std::string(700'000, 'z') + "\n\nend";
  save(dir / "x.txt", text);
  CHECK(read_stream(lines_of({dir / "x.txt"})) == split(text, false));
  CHECK(read_stream(lines_of({dir / "x.txt"}, 7)) == split(text, true));
}

TEST_CASE(
    "compressed lines are read in whatever parts they were compressed, and resume at every place") {
  temporary_directory dir;
  std::mt19937 random{7};
  const auto text = random_text(random, 400);
  auto want = split(text, false);
  caught_notices notices;
  for (const std::size_t part : {0, 1, 3, 100})
    for (const std::string name : {"x.txt.gz", "x.txt.zst"}) {
      CAPTURE(part, name);
      save(dir / name, packed_for(name, text, part));
      for (auto& x : want)
        x.id = name + x.id.substr(x.id.rfind('/'));
      const auto source = lines_of({dir / name});
      CHECK(read_stream(source) == want);
      check_every_place(source);
    }
}

TEST_CASE("lines of a pipe are read once, after a first reader has looked at them") {
  seeded_random random;
  std::string text;
  constexpr std::size_t due = 20'000;
  for (std::size_t i = 0; i < due; ++i)
    text += std::string(random() % 40, 'x') + std::to_string(i) + "\n";
  for (const std::string name : {"x.txt", "x.txt.gz", "x.txt.zst"})
    for (const std::size_t looked_at : {std::size_t{0}, std::size_t{1}, random() % due, due}) {
      CAPTURE(name, looked_at);
      temporary_directory dir;
      REQUIRE(::mkfifo((dir / name).c_str(), 0600) == 0);
      const auto source = lines_of({dir / name});
      std::jthread writer{[&] { save(dir / name, packed_for(name, text)); }};
      bool is_refused = false;
      {
        const auto first = source.open(0, {});
        stream_record x;
        for (std::size_t i = 0; i < looked_at; ++i)
          (void)first->next(x);
        if (looked_at > 0) // while the first one may read on
          is_refused = code_of([&] { (void)source.open(0, {})->next(x); }).has_value();
      }
      std::string got;
      for (const auto& x : read_stream(source))
        got += x.fields.at(0).second + "\n";
      writer.join();
      CHECK(is_refused == (looked_at > 0));
      CHECK(got == text);
      if (looked_at == 0) // that was the first one
        CHECK(read_stream(source).size() == due);
      CHECK_THROWS_AS(read_stream(source), error);
      CHECK_THROWS_AS(source.open(0, {1, 2, ""}), error);
    }
}

TEST_CASE("a first reader that has read too much of a pipe keeps it") {
  temporary_directory dir;
  REQUIRE(::mkfifo((dir / "x.txt").c_str(), 0600) == 0);
  const auto source = lines_of({dir / "x.txt"});
  std::string text;
  while (text.size() < std::size_t{17} << 20)
    text += std::string(1000, 'x') + "\n";
  std::thread writer{[&] { save(dir / "x.txt", text); }};
  const auto got = read_stream(source).size();
  writer.join();
  CHECK(got == text.size() / 1001);
  CHECK_THROWS_AS(read_stream(source), error);
}

TEST_CASE("ranges of files that cannot be cut are refused") {
  temporary_directory dir;
  save(dir / "x.gz", gzip("a\n"));
  REQUIRE(::mkfifo((dir / "pipe").c_str(), 0600) == 0);
  for (const std::string name : {"x.gz", "pipe"})
    check_error([&] { lines_of({dir / name}, 2); },
                {.code = errc::invalid_argument, .file = dir / name});
  CHECK_THROWS_AS(lines(dir / "x.gz", {.ranges = 0}), error);
}

TEST_CASE("more ranges of all files than can have a state are refused") {
  temporary_directory dir;
  texts paths;
  for (int i = 0; i < 153; ++i) { // of 65536 ranges each: above 10,000,000
    paths.push_back(dir / (std::to_string(i) + ".txt"));
    save(paths.back(), "a\n");
  }
  check_error([&] { lines_of(paths, 65536); }, {.code = errc::invalid_argument,
                                                .stage = "lines.ranges",
                                                .needed = "at most 10000000 ranges in all"});
  paths.pop_back();
  CHECK(lines_of(paths, 65536).units() == 152 * 65536);
}

TEST_CASE("lines without an end are refused before they fill the memory") {
  temporary_directory dir;
  const auto packed = gzip(std::string(std::size_t{1} << 26, 'x'));
  save(dir / "x.gz", packed + packed + packed + packed + packed);
  check_error([&] { read_stream(lines_of({dir / "x.gz"})); },
              {.code = errc::invalid_argument, .offset = 0});
}

TEST_CASE("lines of a file that became shorter are torn") {
  temporary_directory dir;
  save(dir / "x.txt", "one\ntwo\n");
  const auto source = lines_of({dir / "x.txt"});
  const auto records = read_unit(source, 0);
  save(dir / "x.txt", "one");
  CHECK_THROWS_AS(read_unit(source, 0), error);
  CHECK_THROWS_AS(read_record(source, records[1]), error);
}

TEST_CASE("lines are the same where nobody wants what is around them, from every place on") {
  temporary_directory dir;
  seeded_random random;
  const auto read = [](const line_source& source, std::uint64_t unit, const stream_place& from,
                       bool surroundings) {
    const auto reader = source.open(unit, from, {.surroundings = surroundings});
    std::vector<std::pair<stream_record, stream_place>> all;
    for (stream_record x; reader->next(x); x = {})
      all.emplace_back(x, reader->place());
    return all;
  };
  const auto check = [](const auto& got, const auto& want) {
    REQUIRE(got.size() == want.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      REQUIRE(same_record(got[i].first, want[i].first));
      REQUIRE(got[i].second == want[i].second);
      REQUIRE_FALSE(got[i].first.surroundings);
    }
  };
  for (const std::size_t usual : {2, 100, 3000, 30'000}) {
    std::string text;
    while (text.size() < usual * 300) {
      const auto size = random() % 60 == 0 ? random() % 300'000 : random() % (2 * usual);
      text += random() % 5 == 0 ? std::string(random() % 500, ' ') : "";
      text += std::string(random() % 6 == 0 ? 0 : size, random() % 7 == 0 ? '\t' : 'x') + '\n';
    }
    save(dir / "x.txt", text + (random() % 2 == 0 ? "the last" : ""));
    for (const std::uint64_t ranges : {1, 3})
      for (const auto& format : {text_lines(), json_object_lines()}) {
        CAPTURE(usual, ranges, format.passes_blank_lines);
        const line_source source{"lines", {dir / "x.txt"}, ranges, format};
        for (std::uint64_t unit = 0; unit < ranges; ++unit) {
          const auto want = read(source, unit, {}, true);
          check(read(source, unit, {}, false), want);
          for (int k = 0; k < 20 && !want.empty(); ++k) {
            const auto i = random() % want.size();
            check(read(source, unit, want[i].second, false), std::span{want}.subspan(i + 1));
          }
        }
      }
  }
}

TEST_CASE("a file that is cut short while its lines are found is torn") {
  temporary_directory dir;
  std::string text;
  for (int i = 0; i < 3000; ++i)
    text += std::string(1000, 'x') + '\n';
  save(dir / "x.txt", text);
  const auto source = lines_of({dir / "x.txt"});
  const auto reader = source.open(0, {}, {.surroundings = false});
  stream_record x;
  for (int i = 0; i < 100; ++i)
    REQUIRE(reader->next(x));
  std::filesystem::resize_file(dir / "x.txt", x.offset + 10);
  REQUIRE(code_of([&] {
            while (reader->next(x)) {
            }
          })
          == errc::torn_file);
}

TEST_CASE("lines and JSON lines are pipelines with all of their options") {
  temporary_directory dir;
  save(dir / "x.txt", "{\"a\": 1}\nno\n");
  const line_options options{.ranges = 2, .order = file_order::shuffled, .seed = 5};
  for (const auto& x : {lines(dir / "x.txt", options), json_lines(dir / "x.txt", options)})
    CHECK(x.root().options
          == std::vector<node_option>{{"patterns", texts{dir / "x.txt"}},
                                      {"ranges", std::uint64_t{2}},
                                      {"file_order", std::string{"shuffled"}},
                                      {"seed", std::uint64_t{5}}});
  CHECK(lines(dir / "x.txt").root().op == "lines");
  CHECK(json_lines(dir / "x.txt").root().op == "json_lines");
  CHECK(read_stream(*stream_of(lines(dir / "x.txt", options))).at(1)
        == stream_sample{"x.txt/@9", {{"text", "no"}}});
  const auto json = stream_of(json_lines(dir / "x.txt"));
  const auto records = read_unit(*json, 0);
  CHECK(read_record(*json, records.at(0)).id == "x.txt/0");
  CHECK_THROWS_AS(read_record(*json, records.at(1)), bad_sample);
}

TEST_CASE("long lines come from the block in which they were found, others are read again") {
  seeded_random random;
  temporary_directory dir;
  std::string text;
  std::vector<std::string> expected;
  // Around the ends of blocks of 256 KiB; some lines are longer than a block.
  while (text.size() < 2'000'000) {
    const std::size_t size = random() % 40 == 0 ? random() % 600'000 : random() % 3'000;
    expected.push_back(std::string(size, static_cast<char>('a' + random() % 26)));
    text += expected.back() + '\n';
  }
  text.pop_back();
  save(dir / "x.txt", text);
  const auto source = lines_of({dir / "x.txt"});
  auto records = read_unit(source, 0);
  REQUIRE(records.size() == expected.size());
  std::size_t shared = 0;
  sample made;
  for (std::size_t i = 0; i < records.size(); ++i) {
    CAPTURE(i, records[i].length);
    REQUIRE_FALSE(records[i].content);
    shared += records[i].surroundings ? 1 : 0;
    if (records[i].length < line_reader::shortest_shared)
      REQUIRE_FALSE(records[i].surroundings);
    for (int turn = 0; turn < 2; ++turn) {
      sample_access::reset(made, nullptr);
      source.read(records[i], made);
      REQUIRE(made.text("text") == expected[i]);
      records[i].surroundings = nullptr; // the sample keeps what it needs
      REQUIRE(made.text("text") == expected[i]);
    }
  }
  CHECK(shared > records.size() / 2);
}

} // namespace leat::line_source_test
