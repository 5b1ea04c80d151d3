// JSON lines and plain lines in the page cache, as a job of a language model reads them: bytes or
// lines per second of all threads together and of wall-clock time, in the caller's thread and with
// two workers, beside a bare loop that reads the files in blocks and looks at every field of every
// line with simdjson. The bare loop makes no batches.

#include "tests/bench/harness.hpp"
#include "tests/support/packing.hpp"

#include <leat/leat.hpp>

#include <simdjson.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat::bench {

namespace {

constexpr int files = 24;
constexpr int documents_per_file = 4000;
constexpr std::uint64_t short_lines = 6'000'000;

/// Documents of 2.4 KB on the average, with a nested value and a number beside the text. `escaped`:
/// every tenth word has a line feed, a quote or letters beyond ASCII behind it, as texts have that
/// json.dumps wrote.
void write_documents(const std::string& folder, const std::string& name, bool escaped) {
  constexpr const char* escapes[] = {R"(\n)", R"(\")", R"(\u00e9\u4e2d)"};
  std::mt19937 random{1};
  std::lognormal_distribution<double> words{5.4, 0.75};
  for (int f = 0; f < files; ++f) {
    std::ofstream out{folder + "/" + name + "-" + std::to_string(f) + ".jsonl"};
    for (int i = 0; i < documents_per_file; ++i) {
      std::string text;
      const auto n = std::clamp(words(random), 10.0, 6000.0);
      for (int k = 0; k < static_cast<int>(n); ++k) {
        text += (k == 0 ? "word" : " word") + std::to_string(random() % 1000);
        if (escaped && random() % 10 == 0)
          text += escapes[random() % std::size(escapes)];
      }
      out << R"({"text": ")" << text << R"(", "meta": {"lang": "en", "id": )" << i
          << R"(, "tags": ["a", "b"]}, "score": 0.)" << 1000 + random() % 9000 << "}\n";
    }
  }
}

/// Beside each file of documents, the same as one frame of zstd, or one member of gzip.
void compress_documents(const std::string& folder, const std::string& ending) {
  for (int f = 0; f < files; ++f) {
    const auto path = folder + "/docs-" + std::to_string(f) + ".jsonl";
    std::ifstream in{path, std::ios::binary};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    std::ofstream{path + ending, std::ios::binary}
        << (ending == ".zst" ? test::zstd(text) : test::gzip(text));
  }
}

void write_short_lines(const std::string& path) {
  std::ofstream out{path};
  for (std::uint64_t i = 0; i < short_lines; ++i)
    out << 1'000'000 + i % 9'000'000 << "x\n";
}

std::uint64_t size_of_all(const std::string& folder, const std::string& name) {
  std::uint64_t bytes = 0;
  for (const auto& x : std::filesystem::directory_iterator{folder})
    if (x.path().extension() == ".jsonl" && x.path().filename().string().starts_with(name))
      bytes += x.file_size();
  return bytes;
}

/// The bytes of a value, so that all of it is read.
std::size_t walk(simdjson::ondemand::value x) {
  switch (x.type()) {
  case simdjson::ondemand::json_type::object: {
    std::size_t sum = 0;
    for (auto member : x.get_object())
      sum += walk(member.value());
    return sum;
  }
  case simdjson::ondemand::json_type::array: {
    std::size_t sum = 0;
    for (auto element : x.get_array())
      sum += walk(element.value());
    return sum;
  }
  case simdjson::ondemand::json_type::string:
    return std::string_view{x.get_string()}.size();
  case simdjson::ondemand::json_type::number:
    return x.get_double() > 0 ? 1 : 0;
  default:
    return x.raw_json_token().size();
  }
}

void read_bare(const std::string& folder, const std::string& name) {
  simdjson::ondemand::parser parser;
  std::size_t sum = 0;
  for (int f = 0; f < files; ++f)
    for_each_line(
        folder + "/" + name + "-" + std::to_string(f) + ".jsonl", [&](std::string_view text) {
          auto line =
              parser.iterate(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING);
          for (auto member : line.get_object())
            sum += walk(member.value());
        });
  if (sum == 0)
    throw std::logic_error("nothing was read");
}

struct text_case {
  std::string name;
  /// How much it reads.
  double amount;
  const char* unit;
  std::function<void(std::size_t workers)> run;
  bool has_workers = true;
  /// Ending of the compressed files that it reads, if any.
  std::string compressed = {};
};

std::vector<text_case> cases(const std::string& folder) {
  const auto megabytes = static_cast<double>(size_of_all(folder, "docs")) / 1e6;
  const auto escaped_megabytes = static_cast<double>(size_of_all(folder, "escaped")) / 1e6;
  const auto pattern = folder + "/docs-*.jsonl";
  const auto batches = [](const pipeline& x, std::uint64_t rows) {
    const auto data = x.batch(rows, {.lanes = 24, .end = epoch_end::mask});
    return [data](std::size_t workers) {
      loader from{data, {.workers = workers, .epochs = 1}};
      take_all(from);
    };
  };
  const auto documents = [&](const std::string& files, auto change, std::uint64_t rows) {
    return batches(change(json_lines(files)), rows);
  };
  const auto packed = [](const pipeline& x) {
    return x.shuffle_buffer(10'000).pack("text", 4096, {.split = true});
  };
  const auto packed_alone = [](const pipeline& x) {
    return x.shuffle_buffer(10'000).pack("text", 4096,
                                         {.split = true, .segment = false, .offset = false});
  };
  const auto of_lines = [&](auto change) {
    return batches(change(lines(folder + "/short.txt", {.ranges = 24})), 1200);
  };
  const auto same = [](const pipeline& x) { return x; };
  const auto buffered = [](const pipeline& x) { return x.shuffle_buffer(24'000); };
  const auto kept = [](const pipeline& x) { return x.filter(field_hash("text", 50)); };
  const auto millions = static_cast<double>(short_lines) / 1e6;
  return {
      {"pread and simdjson, every field", megabytes, "MB/s",
       [=](std::size_t) { read_bare(folder, "docs"); }, false},
      {"JSON lines", megabytes, "MB/s", documents(pattern, same, 240)},
      {"pread and simdjson, texts with escapes", escaped_megabytes, "MB/s",
       [=](std::size_t) { read_bare(folder, "escaped"); }, false},
      {"JSON lines, texts with escapes", escaped_megabytes, "MB/s",
       documents(folder + "/escaped-*.jsonl", same, 240)},
      {"JSON lines, buffer, pack to 4,096, batches of 240", megabytes, "MB/s",
       documents(pattern, packed, 240)},
      {"JSON lines, buffer, pack to 4,096, batches of 24", megabytes, "MB/s",
       documents(pattern, packed, 24)},
      {"JSON lines, buffer, pack to 4,096 without segments and offsets", megabytes, "MB/s",
       documents(pattern, packed_alone, 240)},
      {"JSON lines, zstd, of what they unpack to", megabytes, "MB/s",
       documents(pattern + ".zst", same, 240), true, ".zst"},
      {"JSON lines, gzip, of what they unpack to", megabytes, "MB/s",
       documents(pattern + ".gz", same, 240), true, ".gz"},
      {"JSON lines, zstd, buffer, pack to 4,096", megabytes, "MB/s",
       documents(pattern + ".zst", packed, 240), true, ".zst"},
      {"lines", megabytes, "MB/s", batches(lines(pattern), 240)},
      {"lines of 8 bytes", millions, "million/s", of_lines(same)},
      {"lines of 8 bytes, buffer", millions, "million/s", of_lines(buffered)},
      {"lines of 8 bytes, filter on content", millions, "million/s", of_lines(kept)},
      {"numbers, buffer", millions, "million/s", batches(buffered(count(short_lines)), 1200)},
  };
}

bench_case of_wall_and_cpu(const text_case& x, const std::string& folder) {
  bench_case result{.name = x.name, .columns = {}, .start = {}};
  for (const auto* where : {"", ", 2 workers"})
    if (*where == '\0' || x.has_workers) {
      result.columns.push_back({x.name + where, x.unit});
      result.columns.push_back({"    per second of processor time", x.unit});
    }
  result.start = [x, folder] {
    if (!x.compressed.empty())
      compress_documents(folder, x.compressed);
    return [x](int) {
      std::vector<double> rates;
      for (std::size_t workers = 0; workers <= (x.has_workers ? 2 : 0); workers += 2) {
        const auto wall = wall_seconds();
        const auto cpu = process_seconds();
        x.run(workers);
        rates.push_back(x.amount / (wall_seconds() - wall));
        rates.push_back(x.amount / (process_seconds() - cpu));
      }
      return rates;
    };
  };
  return result;
}

} // namespace

std::vector<bench_case> text_cases(const std::string& folder) {
  write_documents(folder, "docs", false);
  write_documents(folder, "escaped", true);
  write_short_lines(folder + "/short.txt");
  std::vector<bench_case> result;
  for (const auto& x : cases(folder))
    result.push_back(of_wall_and_cpu(x, folder));
  return result;
}

} // namespace leat::bench
