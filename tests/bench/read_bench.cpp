// Reads every record of made data through its source, in one thread, from the page cache, beside a
// bare loop of pread over the same bytes. CPU time.

#include "runtime/sample/sample_access.hpp"
#include "tests/bench/harness.hpp"
#include "tests/support/linear_pipeline.hpp"
#include "tests/support/stream_reading.hpp"
#include "tests/support/tar_writer.hpp"

#include <leat/sources.hpp>
#include <leat/streams.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace leat::bench {

namespace {

using test::tar_writer;

constexpr std::size_t records = 20'000;

struct place {
  std::string path;
  std::uint64_t offset;
  std::size_t size;
};

/// Nanoseconds per record of the bare loop; files stay open unless each is read once.
double bare(const std::vector<place>& places) {
  std::vector<std::byte> buffer;
  const bool is_shared = places.front().path == places.back().path;
  int file = -1;
  const auto begin = thread_seconds();
  for (const auto& x : places) {
    if (file < 0)
      file = ::open(x.path.c_str(), O_RDONLY | O_CLOEXEC);
    if (buffer.size() < x.size)
      buffer.resize(x.size);
    if (::pread(file, buffer.data(), x.size, static_cast<off_t>(x.offset))
        != static_cast<ssize_t>(x.size))
      throw std::runtime_error("a short read");
    if (!is_shared) {
      ::close(file);
      file = -1;
    }
  }
  const auto seconds = thread_seconds() - begin;
  if (file >= 0)
    ::close(file);
  return 1e9 * seconds / static_cast<double>(places.size());
}

using reader = std::function<void(std::size_t, sample&)>;

/// Nanoseconds per record.
double timed(std::size_t n, const reader& read) {
  sample into;
  return 1e9
         * seconds_of(
             [&] {
               for (std::size_t i = 0; i < n; ++i) {
                 sample_access::reset(into, nullptr);
                 read(i, into);
               }
             },
             thread_seconds)
         / static_cast<double>(n);
}

std::vector<place> write_tar(const std::string& path, std::size_t size) {
  tar_writer tar;
  std::vector<place> places;
  for (std::size_t i = 0; i < records; ++i) {
    tar.file(std::to_string(i) + ".bin", std::string(size, 'x'));
    places.push_back(
        {path, tar.bytes().size() - tar_writer::padded(std::string(size, 'x')).size(), size});
  }
  tar.end().save(path);
  return places;
}

std::vector<place> write_raw(const std::string& path, std::size_t size) {
  tar_writer::write(path, std::string(records * size, 'x'));
  std::vector<place> places;
  for (std::size_t i = 0; i < records; ++i)
    places.push_back({path, i * size, size});
  return places;
}

std::vector<place> write_folder(const std::string& dir, std::size_t size) {
  std::filesystem::create_directories(dir + "/class");
  std::vector<place> places;
  for (std::size_t i = 0; i < records / 10; ++i) {
    places.push_back({dir + "/class/" + std::to_string(10'000 + i) + ".jpg", 0, size});
    tar_writer::write(places.back().path, std::string(size, 'x'));
  }
  return places;
}

std::vector<place> write_lines(const std::string& path, std::size_t size) {
  std::string text;
  std::vector<place> places;
  for (std::size_t i = 0; i < records; ++i) {
    places.push_back({path, text.size(), size});
    text += std::string(size, 'x') + '\n';
  }
  tar_writer::write(path, text);
  return places;
}

reader read_indexed(const pipeline& data) {
  return [data](std::size_t i, sample& into) { test::source_of(data).read(i, into); };
}

reader read_stream(const pipeline& data) {
  const auto source = test::stream_of(data);
  std::vector<stream_record> found;
  const auto from = source->open(0, {});
  for (stream_record x; from->next(x);)
    found.push_back(x);
  return [source, found](std::size_t i, sample& into) { source->read(found[i], into); };
}

bench_case compare(const std::string& what, std::function<std::vector<place>()> write,
                   reader (*open)(const pipeline&), std::function<pipeline()> data) {
  constexpr auto unit = "ns per record";
  return {what, {{what, unit}, {"  a bare loop", unit}}, [=] {
            const auto places = write();
            return [places, read = open(data())](int) {
              const auto ours = timed(places.size(), read);
              return std::vector{ours, bare(places)};
            };
          }};
}

} // namespace

std::vector<bench_case> read_cases(const std::string& folder) {
  std::vector<bench_case> all;
  for (const std::size_t size : {100, 10'000}) {
    const auto of = ", " + std::to_string(size) + " bytes";
    const auto at = folder + "/" + std::to_string(size);
    const tar_options index{.index_dir = folder + "/index"};
    const auto tar = [=] { return write_tar(at + ".tar", size); };
    all.push_back(
        compare("tar" + of, tar, read_indexed, [=] { return tar_shards(at + ".tar", index); }));
    all.push_back(compare(
        "raw" + of, [=] { return write_raw(at + ".raw", size); }, read_indexed,
        [=] { return raw_records(at + ".raw", dtype::u8, {size}); }));
    all.push_back(compare(
        "folder" + of, [=] { return write_folder(at, size); }, read_indexed,
        [=] { return image_folder(at); }));
    all.push_back(compare(
        "lines" + of, [=] { return write_lines(at + ".txt", size); }, read_stream,
        [=] { return lines(at + ".txt"); }));
    all.push_back(
        compare("tar_stream" + of, tar, read_stream, [=] { return tar_stream(at + ".tar"); }));
  }
  return all;
}

} // namespace leat::bench
