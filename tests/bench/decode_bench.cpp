// What `leat bench` does not say of how JPEGs become tensors: page faults and allocations of every
// way, what each instruction set gives, and what is left to the processor where a device decodes.
// Files are read into memory first, so that only decoding
// is timed. Nothing is asserted.
// Run: build/bin/leat-decode-bench DATA... [--rounds N] [--transform train|eval] [--images N]
//      [--type f32|u8|f16|bf16]

#include "tests/bench/heap_count.hpp"
#include "tests/bench/host_part.hpp"

#include <leat/error.hpp>
#include <leat/image.hpp>
#include <leat/image_decoder.hpp>
#include <leat/sources.hpp>
#include <leat/tensor.hpp>

#include "tools/leat/bench/decode_timing.hpp"
#include "tools/leat/data_arguments.hpp"
#include "tools/leat/option_values.hpp"
#include "tools/leat/output.hpp"
#include <CLI/CLI.hpp>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

// Which targets there are, as the decoder's own files know them.
#include "runtime/image/simd_targets.hpp"

#include <hwy/highway.h>

namespace leat::bench {

namespace {

using command::decode_case;
using command::decode_cases;
using command::decode_transform;
using command::decode_way;
using command::decode_ways;
using command::decode_worker;
using command::image_ring;
using command::medians;
using command::part_times;
using command::sum_of;

struct options {
  command::data_arguments data;
  std::uint64_t rounds = 5;
  std::string transform = "train";
  std::string type = "f32";
  std::uint64_t images = 1000;
};

tensor_form form_of(const options& x) {
  const image_options standard;
  return {.type = parse_dtype(x.type, "--type"), .mean = standard.mean, .std = standard.std};
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

// -- Instruction sets

struct target_decoder {
  explicit target_decoder(std::int64_t which) : name(hwy::TargetName(which)) {
    hwy::SetSupportedTargetsForTest(which);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    decoder = std::make_unique<image_decoder>();
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }

  const char* name;
  std::unique_ptr<image_decoder> decoder;
  std::vector<part_times> rounds = {};
};

void measure_targets(const options& x, const std::vector<const decode_case*>& images) {
  const auto form = form_of(x);
  image_ring to;
  std::vector<target_decoder> targets;
  for (const auto target : hwy::SupportedAndGeneratedTargets()) {
    targets.emplace_back(target);
    // Untimed, as memory that is touched first costs page faults.
    time_parts(*targets.back().decoder, images, false, form, to);
  }
  for (std::uint64_t round = 0; round < x.rounds; ++round)
    for (std::size_t i = 0; i < targets.size(); ++i) {
      auto& target = targets[(i + round) % targets.size()];
      target.rounds.push_back(time_parts(*target.decoder, images, false, form, to));
    }
  std::printf("\n%-26s %10s %8s %8s %8s  %10s\n", "us an image", "DCT", "narrow", "sum ..", "all",
              "/ the first");
  for (const auto& target : targets) {
    const auto parts = medians(target.rounds);
    auto part = [&](decode_part i) { return parts[static_cast<std::size_t>(i)]; };
    std::printf("%-26s %10.1f %8.1f %8.1f %8.1f  %10.2f\n", target.name,
                part(decode_part::transforming), part(decode_part::narrowing),
                part(decode_part::writing), sum_of(parts),
                sum_of(parts) / sum_of(medians(targets.front().rounds)));
  }
}

std::shared_ptr<const source> images_of(const pipeline& data) {
  const auto found = indexed_sources(data);
  if (found.empty())
    throw error(errc::invalid_argument,
                {.stage = "DATA", .got = "what is read once", .needed = "files"});
  return found.front();
}

void run(const options& x) {
  const auto data = command::data_pipeline(x.data);
  const auto cases = load_cases(
      *images_of(data), x.transform == "eval" ? decode_transform::eval : decode_transform::train,
      x.images);
  if (cases.images.empty())
    throw error(errc::invalid_argument,
                {.stage = "DATA", .got = "no image", .needed = "JPEGs that can be decoded"});
  const auto own = own_ones(cases);
  std::printf("%zu images of %.1f KB, %zu of them by leat's own decoder, %zu bad ones left out; "
              "%s, %s, %llu rounds\n",
              cases.images.size(), mean_bytes(cases) / 1e3, own.size(), cases.bad,
              x.transform.c_str(), x.type.c_str(), static_cast<unsigned long long>(x.rounds));
  const auto worker = std::make_unique<decode_worker>();
  count_memory(x, cases.images, *worker);
  if (own.empty())
    return;
  measure_targets(x, own);
  measure_host_part(own, form_of(x), x.rounds);
}

int main_of(int argc, char** argv) {
  options x;
  CLI::App app{"Measures how JPEGs become tensors"};
  command::add_data_arguments(app, x.data);
  app.option_defaults()->always_capture_default();
  command::whole_number(app.add_option("--rounds", x.rounds, "Rounds that count"), 1, 10'000);
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
