// Measures how JPEGs become tensors: every way against a plain loop, on one thread and on many;
// where the time of leat's own way goes; what each instruction set gives; page faults and
// allocations. Files are read into memory first, so that only decoding is timed. Nothing is
// asserted. Run: build/bin/leat-decode-bench DATA... [--rounds N] [--threads N|all] [--transform
// train|eval]
//      [--type f32|u8|f16|bf16] [--images N]

#include "demos/command/option_values.hpp"
#include "runtime/parse_dtype.hpp"
#include "tests/bench/decode_cases.hpp"
#include "tests/bench/decode_parts.hpp"
#include "tests/bench/decode_ways.hpp"
#include "tests/bench/heap_count.hpp"
#include "tests/bench/measure.hpp"

#include <leat/error.hpp>
#include <leat/image.hpp>

#include <CLI/CLI.hpp>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

// Which targets there are, as the decoder's own files know them.
#include "runtime/simd_targets.hpp"

#include <hwy/highway.h>

namespace leat::bench {

namespace {

struct options {
  command::data_arguments data;
  std::uint64_t rounds = 5;
  std::string threads = "all";
  std::string transform = "train";
  std::string type = "f32";
  std::uint64_t images = 1000;
};

tensor_form form_of(const options& x) {
  const image_options standard;
  return {.type = parse_dtype(x.type, "--type"),
          .mean = standard.mean,
          .deviation = standard.deviation};
}

std::size_t threads_of(const options& x) {
  if (x.threads == "all")
    return std::max(1U, std::thread::hardware_concurrency());
  const auto number = command::parse_number(x.threads);
  if (!number || *number == 0 || *number > 4096)
    command::bad_usage("--threads", "\"" + x.threads + "\"", "1 to 4096, or all");
  return *number;
}

/// Of repeated measurements, one after the other.
using series = std::vector<double>;

series divided(const series& a, const series& b) {
  series result(a.size());
  std::transform(a.begin(), a.end(), b.begin(), result.begin(), std::divides<>{});
  return result;
}

std::string text_of(const spread& x, int decimals) {
  char text[96];
  std::snprintf(text, sizeof text, "%.*f  (%.*f .. %.*f)", decimals, x.median, decimals, x.least,
                decimals, x.most);
  return text;
}

// -- Ways

/// Images a second of each way.
using way_rates = std::array<series, decode_ways.size()>;

void add_round(const std::vector<decode_case>& images, const tensor_form& form,
               const decode_workers& workers, std::size_t threads, std::size_t round,
               way_rates& to) {
  for (std::size_t i = 0; i < decode_ways.size(); ++i) {
    const auto way = (i + round) % decode_ways.size();
    const auto seconds = decode_all(decode_ways[way], images, form, workers, threads);
    to[way].push_back(static_cast<double>(images.size()) / seconds);
  }
}

void print_ways(const way_rates& rates, std::size_t threads) {
  const auto title = std::to_string(threads) + (threads == 1 ? " thread" : " threads");
  std::printf("\n%-20s %-24s %10s  %s\n", title.c_str(), "images a second", "us each",
              "/ plain loop");
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const auto rate = spread_of(rates[i]);
    std::printf("%-20s %-24s %10.1f  %s\n", name_of(decode_ways[i]), text_of(rate, 0).c_str(),
                1e6 * static_cast<double>(threads) / rate.median,
                text_of(spread_of(divided(rates[i], rates[0])), 2).c_str());
  }
}

void measure_ways(const options& x, const std::vector<decode_case>& images,
                  const decode_workers& workers) {
  const auto form = form_of(x);
  std::vector<std::size_t> counts{1};
  if (workers.size() > 1)
    counts.push_back(workers.size());
  std::vector<way_rates> rates(counts.size());
  way_rates warm;
  add_round(images, form, workers, workers.size(), 0, warm);
  for (std::uint64_t round = 0; round < x.rounds; ++round)
    for (std::size_t i = 0; i < counts.size(); ++i)
      add_round(images, form, workers, counts[i], round, rates[i]);
  for (std::size_t i = 0; i < counts.size(); ++i)
    print_ways(rates[i], counts[i]);
}

// -- Faults and allocations

long minor_faults() {
  rusage used{};
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_minflt;
}

void count_memory(const options& x, const std::vector<decode_case>& images, decode_worker& worker) {
  const auto form = form_of(x);
  std::printf("\n%-20s %14s %14s\n", "memory, an image", "page faults",
              counts_heap() ? "allocations" : "(not counted)");
  for (const auto way : decode_ways) {
    auto all = [&] {
      for (const auto& image : images)
        worker.make(way, image, form);
    };
    all();
    const auto faults = minor_faults();
    const auto allocations = heap_allocations();
    all();
    const auto count = static_cast<double>(images.size());
    std::printf("%-20s %14.2f %14.2f\n", name_of(way),
                static_cast<double>(minor_faults() - faults) / count,
                static_cast<double>(heap_allocations() - allocations) / count);
  }
}

// -- Parts

double sum(const part_seconds& x) {
  return std::accumulate(x.begin(), x.end(), 0.0);
}

/// Each part's median.
part_seconds medians(const std::vector<part_seconds>& rounds) {
  part_seconds result{};
  for (std::size_t i = 0; i < result.size(); ++i) {
    series values;
    for (const auto& x : rounds)
      values.push_back(x[i]);
    result[i] = spread_of(values).median;
  }
  return result;
}

std::vector<const decode_case*> own_ones(const std::vector<decode_case>& images,
                                         const tensor_form& form) {
  timed_reader reader;
  std::vector<const decode_case*> result;
  for (const auto& x : images) {
    if (!reader.takes(x))
      continue;
    if (!reader.agrees(x, form))
      throw std::logic_error("decode_parts.cpp is out of step with image_reader");
    result.push_back(&x);
  }
  return result;
}

void measure_parts(const options& x, const std::vector<const decode_case*>& images) {
  const auto form = form_of(x);
  timed_reader reader;
  image_ring to;
  std::vector<part_seconds> unknown;
  std::vector<part_seconds> known;
  time_parts(reader, images, false, form, to);
  for (std::uint64_t round = 0; round < x.rounds; ++round) {
    unknown.push_back(time_parts(reader, images, false, form, to));
    known.push_back(time_parts(reader, images, true, form, to));
  }
  const auto a = medians(unknown);
  const auto b = medians(known);
  std::printf("\n%-32s %17s  %17s\n", "own decoder, us an image", "places unknown", "known");
  for (std::size_t i = 0; i < num_decode_parts; ++i)
    std::printf("%-32s %10.1f %5.1f%%  %10.1f %5.1f%%\n", name_of(static_cast<decode_part>(i)),
                a[i], 100 * a[i] / sum(a), b[i], 100 * b[i] / sum(b));
  std::printf("%-32s %10.1f         %10.1f\n", "all", sum(a), sum(b));
}

// -- Instruction sets

struct target_reader {
  explicit target_reader(std::int64_t which) : name(hwy::TargetName(which)) {
    hwy::SetSupportedTargetsForTest(which);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    reader = std::make_unique<timed_reader>();
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }

  const char* name;
  std::unique_ptr<timed_reader> reader;
  std::vector<part_seconds> rounds = {};
};

void measure_targets(const options& x, const std::vector<const decode_case*>& images) {
  const auto form = form_of(x);
  image_ring to;
  std::vector<target_reader> targets;
  for (const auto target : hwy::SupportedAndGeneratedTargets())
    targets.emplace_back(target);
  for (std::uint64_t round = 0; round < x.rounds; ++round)
    for (std::size_t i = 0; i < targets.size(); ++i) {
      auto& target = targets[(i + round) % targets.size()];
      target.rounds.push_back(time_parts(*target.reader, images, false, form, to));
    }
  std::printf("\n%-26s %10s %8s %8s %8s  %10s\n", "us an image", "DCT", "narrow", "sum ..", "all",
              "/ the first");
  for (const auto& target : targets) {
    const auto parts = medians(target.rounds);
    auto part = [&](decode_part i) { return parts[static_cast<std::size_t>(i)]; };
    std::printf("%-26s %10.1f %8.1f %8.1f %8.1f  %10.2f\n", target.name,
                part(decode_part::transforming), part(decode_part::narrowing),
                part(decode_part::writing), sum(parts),
                sum(parts) / sum(medians(targets.front().rounds)));
  }
}

void run(const options& x) {
  const auto threads = threads_of(x);
  const auto cases = load_cases(
      x.data, x.transform == "eval" ? decode_transform::eval : decode_transform::train, x.images);
  const auto own = own_ones(cases.images, form_of(x));
  std::size_t bytes = 0;
  for (const auto& image : cases.images)
    bytes += image.file.size();
  std::printf("%zu images of %.1f KB, %zu of them by leat's own decoder, %zu bad ones left out; "
              "%s, %s, %llu rounds\n",
              cases.images.size(),
              static_cast<double>(bytes) / 1e3 / static_cast<double>(cases.images.size()),
              own.size(), cases.bad, x.transform.c_str(), x.type.c_str(),
              static_cast<unsigned long long>(x.rounds));
  decode_workers workers(threads);
  for (auto& worker : workers)
    worker = std::make_unique<decode_worker>();
  measure_ways(x, cases.images, workers);
  count_memory(x, cases.images, *workers.front());
  if (own.empty())
    return;
  measure_parts(x, own);
  measure_targets(x, own);
}

int main_of(int argc, char** argv) {
  options x;
  CLI::App app{"Measures how JPEGs become tensors"};
  command::add_data_arguments(app, x.data);
  app.option_defaults()->always_capture_default();
  command::whole_number(app.add_option("--rounds", x.rounds, "Rounds that count"), 1, 10'000);
  app.add_option("--threads", x.threads, "Threads, besides one: a number, or all cores");
  app.add_option("--transform", x.transform, "Crop and size as of train224 or eval224")
      ->check(CLI::IsMember({"train", "eval"}));
  app.add_option("--type", x.type, "Elements")->check(CLI::IsMember({"f32", "u8", "f16", "bf16"}));
  command::whole_number(app.add_option("--images", x.images, "Images at most, evenly over DATA"),
                        1);
  CLI11_PARSE(app, argc, argv);
  try {
    run(x);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "leat-decode-bench: %s\n", problem.what());
    return 1;
  }
  return 0;
}

} // namespace

} // namespace leat::bench

int main(int argc, char** argv) {
  return leat::bench::main_of(argc, argv);
}
