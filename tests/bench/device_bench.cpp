// What a loader that decodes on a device still costs its processors, over the driver that stands in
// for CUDA's (tests/shim/fake_cuda.cpp), which forgets what it is asked to do: no kernel runs, and
// nothing is copied.

#include "tests/bench/harness.hpp"
#include "tests/support/places.hpp"

#include <leat/leat.hpp>
#include <leat/row_index.hpp>

#include "tools/made_data/synthetic_photos.hpp"

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace leat::bench {

namespace {

/// Real photographs, where there are some, with a row index; else painted ones.
pipeline photographs(const std::string& folder) {
  auto from = std::string{test::photos_dir};
  if (!std::filesystem::exists(from)) {
    from = folder + "/photos";
    make_synthetic_data(from, {.samples = 300, .shards = 3});
  }
  auto data = tar_shards(from + "/*.tar", {.index_dir = folder + "/index"});
  (void)build_row_index(data);
  return data.shuffle().map(train_image("jpg", {.size = 224}));
}

struct measured {
  /// CPU time of all threads, in us per image.
  double us = 0;
  /// Images that the processors decoded, in percent.
  double on_cpu = 0;
};

/// In the middle of a job: as many rows are ahead at the end as at the beginning.
measured run(const pipeline& data, const char* device) {
  constexpr std::size_t batch = 64;
  constexpr int batches = 60;
  constexpr int before = 15;
  loader from{data.batch(batch, {.end = epoch_end::drop}),
              {.workers = 1, .epochs = 1000, .device = device}};
  for (int i = 0; i < before; ++i)
    from.next();
  const auto seconds = seconds_of(
      [&] {
        for (int i = 0; i < batches; ++i)
          from.next();
      },
      process_seconds);
  measured x{.us = 1e6 * seconds / (batch * batches)};
  const auto stats = from.stats().device;
  if (!stats)
    return x;
  if (!stats->decoder)
    throw std::logic_error("no image was decoded on the device");
  double others = 0;
  for (const auto& [why, images] : stats->decoder->on_cpu)
    others += static_cast<double>(images);
  x.on_cpu = 100 * others / (others + static_cast<double>(stats->decoder->images));
  return x;
}

} // namespace

std::vector<bench_case> device_cases(const std::string& folder) {
#ifndef LEAT_HAS_FAKE_CUDA // leat is built without CUDA
  (void)folder;
  (void)photographs;
  (void)run;
  return {};
#else
  return {{"decoding on a device",
           {{"decoded by the processors, CPU of an image", "us"},
            {"decoded by a device, CPU of an image", "us"},
            {"the host's part, of what processors need", ""},
            {"images that the processors decode all the same", "%"}},
           [folder] {
             ::setenv("LEAT_FAKE_CUDA", "mode=idle", 1);
             return [data = photographs(folder)](int number) -> std::vector<double> {
               measured found[2];
               for (const int i : {number % 2, 1 - number % 2})
                 found[i] = run(data, i == 0 ? "cpu" : "cuda");
               return {found[0].us, found[1].us, found[1].us / found[0].us, found[1].on_cpu};
             };
           }}};
#endif
}

} // namespace leat::bench
