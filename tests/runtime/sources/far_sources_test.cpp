// Sources over a store whose reads end later, in any order, in pieces, or not at all.

#include "runtime/sources/folder/folder_source.hpp"
#include "runtime/sources/lines/line_format.hpp"
#include "runtime/sources/lines/line_source.hpp"
#include "runtime/sources/tar/tar_source.hpp"
#include "runtime/sources/tar/tar_stream_source.hpp"
#include "runtime/sources/tokens/token_source.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/far_store.hpp"
#include "tests/support/in_threads.hpp"
#include "tests/support/megatron_writer.hpp"
#include "tests/support/npy_writer.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/source_reading.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/stored_source.hpp>

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <thread>

namespace leat::far_sources_test {
namespace {

namespace fs = std::filesystem;
using namespace leat::test;
using samples = std::vector<stream_sample>;

/// Shards with members near to and far from each other, of all sizes, including 0.
void write_shards(const temporary_directory& dir, std::mt19937_64& random) {
  const auto below = [&](std::uint64_t n) { return random() % n; };
  for (int shard = 0; shard < 3; ++shard) {
    tar_writer tar;
    for (std::uint64_t n = below(12); n > 0; --n)
      for (const std::string name : {"jpg", "cls", "txt"}) {
        tar.file("k" + std::to_string(n) + "." + name,
                 random_bytes(random, below(6) == 0 ? below(90'000) : below(700)));
        if (below(6) == 0)
          tar.file("passed-over", std::string(100'000, 'p'));
      }
    tar.file("last.txt", "x").end().save(dir / (std::to_string(shard) + ".tar"));
  }
}

std::shared_ptr<const stored_source> tar_in(const temporary_directory& dir,
                                            const object_store& store) {
  return open_tar_source(files_in(store, dir / "*.tar"), {.index_dir = dir / "index"});
}

void write_folder(const std::string& dir, std::mt19937_64& random) {
  for (const std::string label : {"ant", "bee"})
    for (int i = 0; i < 9; ++i) {
      const auto path = dir + "/" + label + (i % 3 == 0 ? "/deep" : "");
      fs::create_directories(path);
      tar_writer::write(path + "/" + std::to_string(i) + ".jpg",
                        random_bytes(random, i == 4 ? 0 : random() % 5000));
    }
}

void write_tokens(const temporary_directory& dir, std::mt19937_64& random) {
  for (const std::string name : {"a", "b"}) {
    tar_writer::write(dir / (name + ".tokens"), random_bytes(random, 4 * (random() % 9000)));
    const auto rows = random() % 20;
    tar_writer::write(dir / (name + ".npy"), npy_bytes("<i4", "(" + std::to_string(rows) + ", 700)",
                                                       random_bytes(random, rows * 2800)));
    megatron_writer documents{dtype::i32};
    for (auto n = random() % 30; n > 0; --n)
      documents.document({random_bytes(random, 4 * (random() % 3000))});
    documents.save(dir / name);
  }
}

using opener = std::function<std::shared_ptr<const stored_source>(const object_store&)>;

std::vector<opener> sources_of_tokens(const temporary_directory& dir) {
  return {[&](const auto& store) {
            return open_token_source(files_in(store, dir / "*.tokens"), dtype::i32, 300,
                                     {.stride = 170});
          },
          [&](const auto& store) {
            return open_token_source(files_in(store, dir / "*.tokens"), dtype::i32, 2500,
                                     {.drop_last = false});
          },
          [&](const auto& store) { return open_npy_source(files_in(store, dir / "*.npy")); },
          [&](const auto& store) { return open_megatron_source(files_in(store, dir / "*.idx")); }};
}

std::string random_lines(std::mt19937_64& random, bool is_json) {
  std::string text;
  for (auto n = random() % 200; n > 0; --n) {
    const std::string value(random() % 90, 'v');
    text +=
        (is_json ? "{\"v\": \"" + value + "\", \"n\": " + std::to_string(n) + "}" : value) + "\n";
  }
  return text;
}

line_source lines_of(file_set files, bool is_json = false) {
  return {"lines", std::move(files), 2, is_json ? json_object_lines() : text_lines()};
}

/// The bytes of a record, or why there are none.
struct fetched {
  std::vector<std::byte> bytes;
  std::optional<error> failure;
};

/// Fetches many records ahead, several at once.
std::vector<fetched> fetch_all(stored_objects& from,
                               const std::vector<std::vector<extent>>& records) {
  std::vector<fetched> all(records.size());
  in_threads(8, [&](std::size_t t) {
    for (auto i = t; i < records.size(); i += 8) {
      auto& bytes = all[i].bytes;
      for (const auto& x : records[i])
        bytes.resize(bytes.size() + x.size);
      std::vector<read_part> parts;
      std::size_t at = 0;
      for (const auto& x : records[i]) {
        parts.push_back({x.file, x.offset, std::span{bytes}.subspan(at, x.size)});
        at += x.size;
      }
      all[i].failure = problem_of([&] { read_now(from, parts); });
    }
  });
  return all;
}

std::vector<std::vector<extent>> places_in(const stored_source& data) {
  std::vector<std::vector<extent>> all(data.size());
  for (std::uint64_t i = 0; i < data.size(); ++i)
    data.locate(i, all[i]);
  return all;
}

/// All records, decoded from bytes that were fetched ahead.
samples fetched_samples(const stored_source& data) {
  samples all;
  const auto bytes = fetch_all(data.objects(), places_in(data));
  sample into;
  for (std::uint64_t i = 0; i < data.size(); ++i) {
    REQUIRE_FALSE(bytes[i].failure);
    sample_access::reset(into, nullptr);
    data.decode(i, bytes[i].bytes, into);
    all.push_back(fields_of(into));
    data.append_id(i, all.back().id);
  }
  return all;
}

void check_place(const stream_source& data, const stream_record& record, const std::string& id) {
  std::vector<extent> at;
  const auto* const objects = data.locate(record, at);
  REQUIRE(objects);
  REQUIRE(at.size() == 1);
  CHECK(fs::path{objects->name(at[0].file)}.filename() == id.substr(0, id.find('/')));
  CHECK(at[0] == extent{at[0].file, record.offset, record.length});
}

/// Reads with several threads at once, each its share.
samples read_by_threads(const source& data) {
  samples all(data.size());
  in_threads(3, [&](std::uint64_t t) {
    sample into;
    for (auto i = t; i < data.size(); i += 3)
      all[i] = read_one(data, i, into);
  });
  return all;
}

void check_indexed(const stored_source& near, const stored_source& far, const far_store& store) {
  const auto want = read_all(near);
  CHECK(read_all(far) == want);
  CHECK(read_by_threads(far) == want);
  CHECK(fetched_samples(far) == want);
  CHECK(fetched_samples(near) == want);
  CHECK(far.facts() == near.facts());
  CHECK(store.seen().under_way <= 4);
}

TEST_CASE("far store: indexed sources give the same samples read singly, by threads and ahead") {
  far_store::counts all;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random{seed};
    temporary_directory dir;
    write_shards(dir, random);
    write_folder(dir / "photos", random);
    write_tokens(dir, random);
    far_store store{{.seed = seed}};
    // The far one first, so that its index is made from what the store gives.
    const auto far = tar_in(dir, store);
    check_indexed(*tar_in(dir, local_store()), *far, store);
    check_indexed(*open_folder_source(list_folder(dir / "photos"), {}),
                  *open_folder_source(list_folder(dir / "photos", store), {}), store);
    for (const auto& open : sources_of_tokens(dir))
      check_indexed(*open(local_store()), *open(store), store);
    const auto seen = store.seen();
    all.cut_short += seen.cut_short;
    all.overtaken += seen.overtaken;
    all.under_way = std::max(all.under_way, seen.under_way);
  }
  CHECK(all.cut_short > 100);
  CHECK(all.overtaken > 100);
  CHECK(all.under_way == 4);
}

std::vector<stream_record> all_records(const stream_source& data) {
  std::vector<stream_record> all;
  for (std::uint64_t unit = 0; unit < data.units(); ++unit)
    for (auto& x : read_unit(data, unit))
      all.push_back(std::move(x));
  return all;
}

void check_stream(const stream_source& near, const stream_source& far) {
  const auto records = all_records(near);
  const auto again = all_records(far);
  REQUIRE(std::equal(records.begin(), records.end(), again.begin(), again.end(), same_record));
  samples want;
  for (const auto& x : records)
    want.push_back(read_record(near, x));
  for (std::size_t i = 0; i < want.size(); ++i) {
    REQUIRE(read_record(far, records[i]) == want[i]);
    check_place(far, records[i], want[i].id);
  }
}

TEST_CASE("far store: streams find the same records and give the same samples") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random{seed};
    temporary_directory dir;
    write_shards(dir, random);
    tar_writer::write(dir / "a.txt", random_lines(random, false));
    tar_writer::write(dir / "b.txt", random_lines(random, false) + "no newline");
    tar_writer::write(dir / "a.jsonl", random_lines(random, true));
    const far_store store{{.seed = seed}};
    check_stream(tar_stream_source{find_files({dir / "*.tar"}, "test")},
                 tar_stream_source{files_in(store, dir / "*.tar")});
    check_stream(lines_of(find_files({dir / "*.txt"}, "test")),
                 lines_of(files_in(store, dir / "*.txt")));
    check_stream(lines_of(find_files({dir / "*.jsonl"}, "test"), true),
                 lines_of(files_in(store, dir / "*.jsonl"), true));
  }
}

TEST_CASE("far store: a failing read names file and offset, and no other record is lost") {
  std::mt19937_64 random{5};
  temporary_directory dir;
  write_shards(dir, random);
  const auto near = tar_in(dir, local_store());
  const auto want = read_all(*near);
  const auto places = places_in(*near);
  std::atomic<bool> fails = false;
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> bad;
  for (std::uint64_t i = 0; i < want.size(); i += 3)
    bad[{near->objects().name(places[i][0].file), places[i][0].offset}] = i;
  const auto fail = [&](const std::string& name, std::uint64_t offset) {
    return fails && bad.contains({name, offset})
               ? std::optional{error(errc::io, {.file = name, .offset = offset, .got = "503"})}
               : std::nullopt;
  };
  far_store store{{.one_short_in = 0, .fail = fail}};
  const auto far = tar_in(dir, store);
  fails = true;
  sample into;
  const auto ahead = fetch_all(far->objects(), places);
  for (std::uint64_t i = 0; i < want.size(); ++i) {
    CAPTURE(i);
    stream_sample got;
    const auto problem = problem_of([&] { got = read_one(*far, i, into); });
    REQUIRE(problem.has_value() == (i % 3 == 0));
    REQUIRE(problem.has_value() == ahead[i].failure.has_value());
    if (!problem) {
      CHECK(got == want[i]);
      continue;
    }
    for (const auto& x : {problem, ahead[i].failure}) {
      CHECK(x->details().file == near->objects().name(places[i][0].file));
      CHECK(x->details().offset == places[i][0].offset);
    }
  }
  fails = false;
  CHECK(read_all(*far) == want);
}

TEST_CASE("far store: an object that ends too early is torn, however short the answers are") {
  temporary_directory dir;
  tar_writer{}.file("a.jpg", std::string(600, 'x')).end().save(dir / "a.tar");
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const far_store store{{.seed = seed}};
    const auto data = tar_in(dir, store);
    fs::copy_file(dir / "a.tar", dir / "whole");
    fs::resize_file(dir / "a.tar", 1000);
    sample into;
    check_error([&] { read_one(*data, 0, into); },
                {.code = errc::torn_file,
                 .file = dir / "a.tar",
                 .offset = 0,
                 .got = "the end of the file after 1000 bytes of it",
                 .needed = "1112 bytes: the file has become shorter since it was opened"});
    fs::rename(dir / "whole", dir / "a.tar");
  }
}

TEST_CASE("far store: a wait for bytes ends when told to stop, also when told before") {
  temporary_directory dir;
  tar_writer{}.file("a.txt", "1").end().save(dir / "a.tar");
  far_store store{{}};
  const auto data = tar_in(dir, store);
  store.hold_after(0);
  std::stop_source stop;
  std::optional<error> problem;
  std::thread reader{[&] {
    sample into;
    problem = problem_of([&] { read_one(*data, 0, into, stop.get_token()); });
  }};
  store.wait_for_reads(1);
  stop.request_stop();
  reader.join();
  REQUIRE(problem);
  CHECK(problem->code() == errc::io);
  sample into;
  CHECK(code_of([&] { read_one(*data, 0, into, stop.get_token()); }) == errc::io);
  store.release();
  CHECK(read_one(*data, 0, into).fields.at(0).second == "1");
}

/// A user's own source: records of two halves, which lie in two files.
class halves final : public stored_source {
public:
  explicit halves(std::vector<std::string> files) : stored_source(std::move(files)) {}
  std::uint64_t size() const override { return 5; }
  void locate(std::uint64_t record, std::vector<extent>& into) const override {
    into.push_back({.file = 0, .offset = 3 * record, .size = 3});
    into.push_back({.file = 1, .offset = 2 * record, .size = 2});
  }
  void decode(std::uint64_t, std::span<const std::byte> bytes, sample& into) const override {
    into.borrow("left", bytes.first(3));
    into.borrow("right", bytes.subspan(3));
  }
  std::string name() const override { return "halves"; }
};

TEST_CASE("a program's own source says where records lie, and leat reads them") {
  temporary_directory dir;
  tar_writer::write(dir / "left", "aaabbbcccdddeee");
  tar_writer::write(dir / "right", "0011223344");
  const halves data{{dir / "left", dir / "right"}};
  sample into;
  for (std::uint64_t i = 0; i < 5; ++i) {
    const auto letter = static_cast<char>('a' + i);
    CHECK(read_one(data, i, into)
          == stream_sample{"halves/" + std::to_string(i),
                           {{"left", std::string(3, letter)},
                            {"right", std::string(2, static_cast<char>('0' + i))}}});
    CHECK(sample_access::take_bytes_read(into) == 5);
  }
  check_error([&] { read_one(data, 5, into); },
              {.code = errc::torn_file, .file = dir / "left", .offset = 15});
  fs::remove(dir / "right");
  const halves gone{{dir / "left", dir / "right"}};
  CHECK(code_of([&] { read_one(gone, 0, into); }) == errc::not_found);
}

} // namespace
} // namespace leat::far_sources_test
