#include "runtime/sources/journal/frame.hpp"
#include "runtime/sources/journal/journal.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/bad_sample.hpp>

#include <fstream>

using namespace leat;

namespace {

/// One directory for all inputs: in memory, if temporary files go to /dev/shm.
const std::string& directory() {
  static const test::temporary_directory at;
  return at.path();
}

std::string content_of(const journal& from, std::uint64_t number) {
  sample x;
  const auto bytes = from.read(number, x);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The input is the only file of a journal: what can be read stays the same after more was added.
void read_journal(record_format format, std::string_view file) {
  const auto suffix = format == record_format::lines ? ".lines" : ".frames";
  const auto path = directory() + "/00000000000000000000" + suffix;
  std::ofstream{path, std::ios::binary} << file;
  allow(errc::torn_file, [&] {
    const journal_format options{.format = format};
    std::vector<std::string> records;
    {
      journal x{directory(), options};
      for (std::uint64_t i = 0; i < x.next(); ++i)
        records.push_back(content_of(x, i));
      if (format == record_format::lines)
        x.end_line();
      else
        x.append("more");
    }
    const journal x{directory(), options};
    check(x.next() >= records.size());
    for (std::uint64_t i = 0; i < records.size(); ++i)
      check(content_of(x, i) == records[i]);
  });
  std::filesystem::remove(path);
}

/// The input is what stands in a frame.
void read_sample(std::span<const std::byte> content) {
  sample x;
  try {
    set_fields(x, content);
    sample again;
    const auto bytes = bytes_of(x);
    set_fields(again, std::as_bytes(std::span{bytes}));
    check(bytes_of(again) == bytes);
  } catch (const bad_sample&) {
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input{reinterpret_cast<const char*>(data), size};
  read_journal(record_format::lines, input);
  read_journal(record_format::frames, input);
  // Frames with right checksums, cut by the input's own end.
  read_journal(record_format::frames,
               (make_frame(0, input.substr(0, size / 2)) + make_frame(1, input))
                   .substr(0, frame_header_bytes + size));
  read_sample(std::as_bytes(std::span{input}));
  return 0;
}
