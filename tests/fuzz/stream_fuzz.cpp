// Any bytes, read as a stream: a tar file gives the same samples uncompressed and compressed, and
// at every place; lines are those of the text in any ranges; a line is a sample or a bad one.
#include "runtime/sources/lines/json_fields.hpp"
#include "runtime/sources/lines/line_source.hpp"
#include "runtime/sources/tar/tar_stream_source.hpp"
#include "runtime/storage/file_kind.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/support/packing.hpp"
#include "tests/support/stream_reading.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/bad_sample.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>

using namespace leat;
using namespace leat::test;

namespace {

struct reading {
  std::vector<stream_sample> samples;
  std::vector<stream_place> places;
  bool has_failed = false;
};

/// One unit up to its end or its error; every record is read with and without its content.
reading read_from(const stream_source& source, const stream_place& from) {
  reading x;
  try {
    const auto reader = source.open(0, from);
    for (stream_record record; reader->next(record);) {
      x.samples.push_back(read_record(source, record));
      check(read_record(source, without_content(record)) == x.samples.back());
      x.places.push_back(reader->place());
    }
  } catch (const error& problem) {
    check(problem.code() == errc::torn_file || problem.code() == errc::invalid_argument);
    x.has_failed = true;
  }
  return x;
}

reading read_at_every_place(const stream_source& source) {
  const auto whole = read_from(source, {});
  for (std::size_t k = 0; k < whole.places.size(); ++k) {
    const auto rest = read_from(source, whole.places[k]);
    check(rest.has_failed == whole.has_failed);
    check(std::equal(rest.samples.begin(), rest.samples.end(),
                     whole.samples.begin() + static_cast<std::ptrdiff_t>(k) + 1,
                     whole.samples.end()));
  }
  return whole;
}

void read_tar(const std::string& archive, std::size_t part, const temporary_directory& dir) {
  tar_writer::write(dir / "x.tar", archive);
  tar_writer::write(dir / "x.tar.gz",
                    archive.empty() ? gzip("") : pack_in_parts(archive, part, gzip));
  const auto plain = read_at_every_place(tar_stream_source{{dir / "x.tar"}});
  const auto packed = read_at_every_place(tar_stream_source{{dir / "x.tar.gz"}});
  check(plain.has_failed == packed.has_failed);
  check(std::equal(plain.samples.begin(), plain.samples.end(), packed.samples.begin(),
                   packed.samples.end(),
                   [](const auto& a, const auto& b) { return a.fields == b.fields; }));
}

/// The input is what was compressed, perhaps damaged.
void read_packed(const std::string& bytes, const temporary_directory& dir) {
  for (const std::string name : {"p.gz", "p.zst"}) {
    tar_writer::write(dir / name, bytes);
    read_at_every_place(line_source{"lines", {dir / name}, 1, text_lines()});
  }
}

void read_lines(const std::string& text, std::uint64_t ranges, const temporary_directory& dir) {
  tar_writer::write(dir / "x.txt", text);
  if (const auto kind = kind_of_path(dir / "x.txt"); kind && kind.is != file_kind::form::text)
    return; // compressed, or of another kind: refused, as its first bytes say
  std::string together;
  for (const auto& x : read_stream(line_source{"lines", {dir / "x.txt"}, ranges, text_lines()}))
    together += x.fields.at(0).second + "\n";
  check(together == (text.empty() || text.ends_with('\n') ? text : text + "\n"));
}

void read_json(const std::string& line) {
  sample into;
  try {
    set_json_fields(std::as_bytes(std::span{line}), into);
  } catch (const bad_sample&) {
    // What most lines are.
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const temporary_directory dir;
  static const caught_notices quiet;
  const std::string bytes{reinterpret_cast<const char*>(data), size};
  const std::size_t part = 1 + (size > 0 ? data[0] * 8U : 0);
  read_tar(bytes, part, dir);
  read_tar(with_checksums(bytes), part, dir);
  read_packed(bytes, dir);
  read_lines(bytes, 1 + part % 9, dir);
  read_json(bytes);
  return 0;
}
