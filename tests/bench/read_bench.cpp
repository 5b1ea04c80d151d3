// Reads every record of made data through its source, in one thread, from the page cache, beside a
// bare loop of pread over the same bytes. CPU time, medians and extremes; nothing is asserted.
// Run: build/bin/leat-read-bench [ROUNDS]

#include "runtime/sample/sample_access.hpp"
#include "tests/bench/measure.hpp"
#include "tests/support/linear_pipeline.hpp"
#include "tests/support/stream_reading.hpp"
#include "tests/support/tar_writer.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/sources.hpp>
#include <leat/streams.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace leat;
using bench::spread_of;
using test::tar_writer;

constexpr std::size_t records = 20'000;

/// CPU time of this thread, which other load on the machine disturbs less than wall-clock time.
class cpu_watch {
public:
  double seconds() const { return now() - begin_; }

private:
  static double now() {
    timespec x{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &x);
    return static_cast<double>(x.tv_sec) + 1e-9 * static_cast<double>(x.tv_nsec);
  }
  double begin_ = now();
};

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
  cpu_watch watch;
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
  const auto seconds = watch.seconds();
  if (file >= 0)
    ::close(file);
  return 1e9 * seconds / static_cast<double>(places.size());
}

double timed(std::size_t n, const std::function<void(std::size_t, sample&)>& read) {
  sample into;
  cpu_watch watch;
  for (std::size_t i = 0; i < n; ++i) {
    sample_access::reset(into, nullptr);
    read(i, into);
  }
  return 1e9 * watch.seconds() / static_cast<double>(n);
}

void compare(const std::string& what, const std::vector<place>& places, int rounds,
             const std::function<void(std::size_t, sample&)>& read) {
  std::vector<double> ours;
  std::vector<double> plain;
  for (int i = 0; i < rounds; ++i) {
    ours.push_back(timed(places.size(), read));
    plain.push_back(bare(places));
  }
  report(what, spread_of(ours), "ns per record");
  report("  a bare loop", spread_of(plain), "ns per record");
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

void indexed_source(const std::string& what, const std::vector<place>& places, const pipeline& data,
                    int rounds) {
  const auto& source = test::source_of(data);
  compare(what, places, rounds, [&](std::size_t i, sample& into) { source.read(i, into); });
}

void stream(const std::string& what, const std::vector<place>& places, const pipeline& data,
            int rounds) {
  const auto source = test::stream_of(data);
  std::vector<stream_record> found;
  const auto reader = source->open(0, {});
  for (stream_record x; reader->next(x);)
    found.push_back(x);
  compare(what, places, rounds, [&](std::size_t i, sample& into) { source->read(found[i], into); });
}

} // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  const test::temporary_directory dir;
  const tar_options index{.index_dir = dir / "index"};
  for (const std::size_t size : {100, 10'000}) {
    const auto of = ", " + std::to_string(size) + " bytes";
    const auto name = std::to_string(size);
    const auto tar = write_tar(dir / (name + ".tar"), size);
    indexed_source("tar" + of, tar, tar_shards(dir / (name + ".tar"), index), rounds);
    indexed_source("raw" + of, write_raw(dir / (name + ".raw"), size),
                   raw_records(dir / (name + ".raw"), dtype::u8, {size}), rounds);
    indexed_source("folder" + of, write_folder(dir / name, size), image_folder(dir / name), rounds);
    stream("lines" + of, write_lines(dir / (name + ".txt"), size), lines(dir / (name + ".txt")),
           rounds);
    stream("tar_stream" + of, tar, tar_stream(dir / (name + ".tar")), rounds);
  }
}
