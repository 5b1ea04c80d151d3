// Batches of tokens from files in the page cache, in a shuffled order, beside memcpy from a mapping
// of the same file into the memory of a batch: documents of Megatron-LM's data, whose lengths
// differ, and windows: CPU time in one thread, and wall-clock time with two workers, which says
// something only on a machine with nothing else to do. Then: how long a job takes to begin at token
// 10^10, and how long an index of many documents is read.

#include "tests/bench/harness.hpp"
#include "tests/support/megatron_writer.hpp"

#include <leat/leat.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace leat::bench {

namespace {

using test::megatron_writer;

constexpr std::uint64_t rows = 64;
constexpr std::uint64_t documents = 50'000;
constexpr std::uint64_t mean_tokens = 2000;
/// So many that the beginning of a job is a small part of it.
constexpr std::uint64_t epochs = 10;

/// A file in memory, all of whose pages have been touched.
class mapping {
public:
  explicit mapping(const std::string& path) : size_(std::filesystem::file_size(path)) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    at_ = ::mmap(nullptr, size_, PROT_READ, MAP_SHARED | MAP_POPULATE, file, 0);
    ::close(file);
    if (at_ == MAP_FAILED)
      throw std::runtime_error("no mapping");
  }
  ~mapping() { ::munmap(at_, size_); }
  mapping(const mapping&) = delete;
  mapping& operator=(const mapping&) = delete;

  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(at_), size_}; }

private:
  void* at_;
  std::size_t size_;
};

/// Where a record lies.
struct piece {
  std::uint64_t offset;
  std::uint64_t bytes;
};

/// Pieces in the order of an epoch of a job.
std::vector<piece> in_order(const pipeline& job, const std::vector<piece>& pieces) {
  std::vector<piece> result;
  order_preview order{job};
  for (const auto& batch : order)
    for (const auto& id : batch.ids)
      result.push_back(pieces.at(std::stoull(id.substr(id.rfind('/') + 1))));
  return result;
}

/// Seconds of a job's batches.
double of_loader(const pipeline& job, std::size_t workers, clock_function now) {
  loader x{job, {.workers = workers, .epochs = epochs}};
  const double begin = now();
  while (auto batch = x.next())
    if (!batch->field("tokens").data)
      throw std::logic_error("a batch without tokens");
  return now() - begin;
}

/// Seconds of copying the same pieces, batch after batch, into the same memory.
double of_memcpy(const mapping& file, const std::vector<piece>& pieces, clock_function now) {
  std::vector<std::byte> batch(rows * mean_tokens * 8 * 8);
  const double begin = now();
  std::size_t at = 0;
  for (std::size_t i = 0; i < epochs * pieces.size(); ++i) {
    const auto& x = pieces[i % pieces.size()];
    if (i % rows == 0)
      at = 0;
    if (x.bytes > batch.size() - at)
      throw std::logic_error("a large batch");
    std::memcpy(batch.data() + at, file.bytes().data() + x.offset, x.bytes);
    at += x.bytes;
    volatile auto used = batch[at / 2];
    (void)used;
  }
  return now() - begin;
}

bench_case::round beside_memcpy(const pipeline& job, const std::string& file,
                                const std::vector<piece>& all) {
  const auto map = std::make_shared<mapping>(file);
  const auto pieces = in_order(job, all);
  double gigabytes = 0;
  for (const auto& x : pieces)
    gigabytes += 1e-9 * static_cast<double>(epochs * x.bytes);
  return [=](int) {
    std::vector<double> found;
    for (const std::size_t workers : {0, 2}) {
      const auto now = workers == 0 ? thread_seconds : wall_seconds;
      const auto plain = gigabytes / of_memcpy(*map, pieces, now);
      const auto ours = gigabytes / of_loader(job, workers, now);
      found.insert(found.end(), {ours, plain, ours / plain});
    }
    return found;
  };
}

bench_case compare(const std::string& what, std::function<bench_case::round()> start) {
  bench_case result{what, {}, std::move(start)};
  for (const auto* where : {", one thread", ", two workers"})
    result.columns.insert(result.columns.end(), {{what + where, "GB/s"},
                                                 {"  memcpy from a mapping, one thread", "GB/s"},
                                                 {"  of memcpy's speed", ""}});
  return result;
}

/// Lognormal, with a mean of about `mean_tokens`.
std::uint64_t some_length(rng& random) {
  return static_cast<std::uint64_t>(static_cast<double>(mean_tokens)
                                    * std::exp(0.8 * random.normal() - 0.32));
}

bench_case megatron_documents(const std::string& prefix, dtype type) {
  return compare("megatron, documents of " + std::string{to_string(type)}, [=] {
    megatron_writer writer{type};
    rng random{1, 2};
    std::vector<piece> pieces;
    for (std::uint64_t i = 0; i < documents; ++i) {
      const auto bytes = some_length(random) * size_of(type);
      pieces.push_back({writer.data().size(), bytes});
      writer.document({std::string(bytes, static_cast<char>(i))});
    }
    writer.save(prefix);
    return beside_memcpy(megatron(prefix).shuffle({.seed = 1}).batch(rows), prefix + ".bin",
                         pieces);
  });
}

bench_case windows_of_tokens(const std::string& file) {
  return compare("tokens, windows of 2049 u16", [=] {
    constexpr std::uint64_t length = 2049;
    constexpr std::uint64_t bytes = length * 2;
    std::ofstream{file, std::ios::binary} << std::string(documents * bytes, 'x');
    std::vector<piece> pieces;
    for (std::uint64_t i = 0; i < documents; ++i)
      pieces.push_back({i * bytes, bytes});
    return beside_memcpy(tokens(file, dtype::u16, length).shuffle({.seed = 1}).batch(rows), file,
                         pieces);
  });
}

/// A file with holes: no disk has to hold it.
bench_case resume(const std::string& file) {
  const std::string name = "tokens, to the first batch at token 10^10";
  return {name, {{name, "ms"}}, [file] {
            constexpr std::uint64_t length = 2048;
            constexpr std::uint64_t step = 10'000'000'000 / length / rows;
            std::ofstream{file};
            std::filesystem::resize_file(file, 2 * (step + 1000) * length * rows);
            const auto job = tokens(file, dtype::u16, length).shuffle({.seed = 1}).batch(rows);
            return [text = to_string(job)](int) -> std::vector<double> {
              const auto again = parse_pipeline(text);
              return {1e3 * seconds_of([&] {
                        loader x{again, {.workers = 0}};
                        x.seek(0, step);
                        if (!x.next())
                          throw std::logic_error("no batch");
                      })};
            };
          }};
}

bench_case opening(const std::string& prefix) {
  constexpr std::uint64_t many = 10'000'000;
  const std::string name = "megatron, to open 10,000,000 documents";
  return {name, {{name, "ms"}}, [prefix] {
            megatron_writer writer{dtype::u16};
            for (std::uint64_t i = 0; i < many; ++i)
              writer.document({"12"});
            writer.save(prefix);
            return [prefix](int) -> std::vector<double> {
              const auto data = megatron(prefix);
              return {1e3 * seconds_of([&] {
                        if (data.size() != many)
                          throw std::logic_error("documents are missing");
                      })};
            };
          }};
}

} // namespace

std::vector<bench_case> token_cases(const std::string& folder) {
  return {megatron_documents(folder + "/u16", dtype::u16),
          megatron_documents(folder + "/i32", dtype::i32),
          windows_of_tokens(folder + "/windows.bin"), resume(folder + "/large.bin"),
          opening(folder + "/many")};
}

} // namespace leat::bench
