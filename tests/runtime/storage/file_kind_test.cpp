#include "runtime/rows/job_plan.hpp"
#include "runtime/storage/file_kind.hpp"
#include "runtime/storage/whole_file.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/expected_error.hpp"
#include "tests/support/packing.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/sources.hpp>
#include <leat/streams.hpp>

#include <filesystem>
#include <functional>
#include <vector>

// Data of another kind than its source reads is the most common mistake of beginners: the error
// names what it is and what reads it.

namespace leat::file_kind_test {
namespace {

using namespace std::string_literals;
using namespace leat::test;

/// Files of a directory, by name, with what they hold.
struct stored {
  std::string name;
  std::string content;
  /// What an error must name: the kind, and what to use instead.
  std::string what;
  std::string instead;
};

std::vector<stored> strangers() {
  const std::string json = "{\"a\": 1}\n{\"a\": 2}\n";
  const auto tar = tar_writer{}.file("0.txt", "zero").end().bytes();
  return {
      {"x.jsonl", json, "JSON", "json_lines(\"x.jsonl\")"},
      {"list.json", "[1, 2]\n", "a JSON array", "json_lines"},
      {"x.txt", "some words\n", "text", "lines(\"x.txt\")"},
      {"x.csv", "id,label\n1,2\n", "text", "lines(\"x.csv\")"},
      {"x.jsonl.gz", gzip(json), "compressed by gzip", "json_lines(\"x.jsonl.gz\")"},
      {"x.tar.gz", gzip(tar), "compressed by gzip", "tar_stream(\"x.tar.gz\")"},
      {"x.tzst", zstd(tar), "compressed by zstd", "tar_stream(\"x.tzst\")"},
      {"x.txt.zst", zstd(json), "compressed by zstd", "lines(\"x.txt.zst\")"},
      {"packed", gzip(json), "compressed by gzip", "*.jsonl.gz for json_lines"},
      {"x.parquet", "PAR1\x15\x04PAR1", "a Parquet file", "leat.parquet in Python"},
      {"x.bz2", "BZh91AY&SY~~~~", "a bzip2 file", "gzip or zstd"},
      {"x.arrow", "ARROW1\0\0"s, "an Arrow file", "arrow(\"x.arrow\")"},
      {"x.html", "<!DOCTYPE html>\n<p>", "a page of HTML", "a server"},
      {"utf16.txt", "\xff\xfe{\0\n\0"s, "text in UTF-16", "iconv"},
      {"x.h5", "\x89HDF\r\n\x1a\n", "an HDF5 file", "a source of your own"},
      {"x.npy", "\x93NUMPY\x01\0"s, "a NumPy array", "npy(\"x.npy\")"},
      {"x.idx", "MMIDIDX\0\0\1\0"s, "an index of Megatron-LM's tokens", "megatron(\"x.idx\")"},
      {"x.zip", "PK\x03\x04\x14\0"s, "a zip archive", "tar shards"},
      {"x.jpg", "\xff\xd8\xff\xe0", "a JPEG image", "image_folder"},
      {"x.xz", "\xfd\x37zXZ\0"s, "an xz file", "gzip or zstd"},
      {"x.tfrecord", "\x10\0\0\0\0\0\0\0"s, "a TFRecord file", "tar shards"},
      {"shard.tar.leat-index", "leattar3\0\0"s, "an index file that leat keeps",
       "the shard itself"},
      {"step-1.rank-0-of-1", "leatsnap\0\0"s, "a snapshot of leat", "leat inspect"},
  };
}

/// Checks that the error names the file, what it is, and what reads it, and calls nothing torn.
void check_told(const std::function<void()>& call, const stored& x, const std::string& path) {
  CAPTURE(x.name);
  // The suggestion has the folder in it, so that it can be pasted.
  auto instead = x.instead;
  if (const auto at = instead.find(x.name); at != std::string::npos)
    instead.replace(at, x.name.size(), path);
  check_error(
      call,
      {.code = errc::invalid_argument, .file = path, .got_has = x.what, .needed_has = instead});
}

TEST_CASE("kinds: a file that is not a shard is called what it is, with what reads it") {
  temporary_directory at;
  for (const auto& x : strangers()) {
    tar_writer::write(at / x.name, x.content);
    for (const bool allow_torn : {false, true})
      check_told([&] { tar_shards(at / x.name, {.allow_torn = allow_torn}).size(); }, x,
                 at / x.name);
  }
}

TEST_CASE("kinds: files without lines are not read as lines") {
  temporary_directory at;
  auto tar = tar_writer{}.file("0.txt", "zero").end().bytes();
  std::vector<stored> files{{"x.tar", tar, "a tar archive", "tar_shards(\"x.tar\")"},
                            {"x.tar.gz", gzip(tar), "a tar archive", "tar_stream"},
                            {"x.parquet", "PAR1\x15\x04PAR1", "a Parquet file", "leat.parquet"},
                            {"x.jsonl", gzip("{}"), "compressed by gzip", "x.jsonl.gz"}};
  for (const auto& x : files) {
    tar_writer::write(at / x.name, x.content);
    for (const auto& source : {lines(at / x.name), json_lines(at / x.name)})
      check_told([&] { plan_job(source.batch(1)); }, x, at / x.name);
  }
}

TEST_CASE("kinds: texts are texts, whatever words they begin with") {
  temporary_directory at;
  for (const std::string begin : {"PAR1", "BZh", "ORC", "ARROW1", "leatsnap", "leattar", "leatdir"})
    for (const std::string rest :
         {"", "\n", "\nHUMAN\n",
          " and some more words, which make a line of a usual length, of 80\n"})
      for (const auto* name : {"x.pt", "races.txt"}) {
        const auto text = begin + rest;
        CAPTURE(text, name);
        tar_writer::write(at / name, text);
        CHECK_NOTHROW(plan_job(lines(at / name).batch(1)));
        CHECK(kind_of_path(at / name).is == file_kind::form::text);
      }
}

TEST_CASE("kinds: addresses, directories and pipes are called what they are") {
  temporary_directory at;
  std::filesystem::create_directories(at / "folder/cat");
  const std::vector<stored> paths{
      {"az://bucket/x-{0..3}.tar", "", "an address in Azure's storage", "a path of this machine"},
      {"https://x.org/*.tar", "", "a server that cannot be listed", "braces"},
      {at / "folder", "", "a directory", "image_folder"},
      {"/dev/null", "", "a pipe or device", "standard_input"},
  };
  for (const auto& x : paths)
    check_error([&] { tar_shards(x.name).size(); },
                {.code = errc::invalid_argument, .got_has = x.what, .needed_has = x.instead});
  CHECK(code_of([&] { tar_shards(at / "none.tar").size(); }) == errc::not_found);
  for (const char* read_by_leat : {"s3://b/x", "gs://b/x", "gcs://b/x", "hf://datasets/o/n/x"})
    CHECK_FALSE(kind_of_path(read_by_leat));
}

TEST_CASE("kinds: a file in place of a class folder is called what it is") {
  temporary_directory at;
  const stored x{"x.tar", tar_writer{}.file("0.txt", "zero").end().bytes(), "a tar archive",
                 "tar_shards"};
  tar_writer::write(at / x.name, x.content);
  check_told([&] { image_folder(at / x.name).size(); }, x, at / x.name);
}

TEST_CASE("kinds: a shard that is cut or damaged in its first header stays a torn shard") {
  temporary_directory at;
  auto tar = tar_writer{}.file("0.txt", "zero").end().bytes();
  tar_writer::write(at / "cut.tar", tar.substr(0, 300));
  CHECK(code_of([&] { tar_shards(at / "cut.tar").size(); }) == errc::torn_file);
  tar[0] = 'x';
  tar_writer::write(at / "damaged.tar", tar);
  CHECK(code_of([&] { tar_shards(at / "damaged.tar").size(); }) == errc::torn_file);
}

TEST_CASE("kinds: names say how files are read") {
  using enum reading;
  using row = std::pair<std::string, reading>;
  for (const auto& [name, how] :
       {row{"a.tar", tar_shards}, row{"a/b-{000..003}.tar", tar_shards},
        row{"a.tar.gz", tar_stream}, row{"*.tzst", tar_stream}, row{"a.jsonl", json_lines},
        row{"a.NDJSON", json_lines}, row{"a-*.jsonl.zst", json_lines}, row{"a.txt.gz", lines},
        row{"a-*.npy", npy}, row{"a/b.idx", megatron}, row{"a.npy.gz", unknown},
        row{"a.gz", unknown}, row{"a", unknown}, row{"tar", unknown}}) {
    CAPTURE(name);
    CHECK(reading_of(name) == how);
  }
}

TEST_CASE("kinds: what is read at once has a limit, and a directory is called one") {
  temporary_directory at;
  tar_writer::write(at / "text", "twelve bytes");
  CHECK(read_whole_file(at / "text", 12, "test") == "twelve bytes");
  CHECK(code_of([&] { read_whole_file(at / "text", 11, "test"); }) == errc::invalid_argument);
  for (const auto* device : {"/dev/zero", "/dev/null"})
    CHECK(code_of([&] { read_whole_file(device, 1 << 20, "test"); }) == errc::invalid_argument);
  CHECK(code_of([&] { read_whole_file(at / "none", 11, "test"); }) == errc::not_found);
  check_error([&] { read_whole_file(at.path(), 11, "test"); },
              {.code = errc::invalid_argument, .file = at.path(), .got_has = "a directory"});
}

} // namespace
} // namespace leat::file_kind_test
