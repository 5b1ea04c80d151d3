#include "tests/gpu/times.hpp"

#include "tests/gpu/report.hpp"
#include "tests/gpu/watched_calls.hpp"

#include <leat/leat.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <string_view>
#include <vector>

namespace leat::gpu_check {

namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t image_elements = std::size_t{3} * 224 * 224;
/// What ResNet-50 takes for 256 images on an H100.
constexpr std::uint64_t step_ns = 60'000'000;
/// Steps that a trainer issues ahead of the GPU.
constexpr std::size_t steps_ahead = 2;
constexpr std::size_t first_steps = 20;

pipeline images(const times_options& options) {
  const auto path = options.directory + "/images.f32";
  std::ofstream file{path, std::ios::binary};
  std::vector<std::uint32_t> image(image_elements);
  std::uint32_t x = 1;
  for (std::uint64_t i = 0; i < 2 * options.rows; ++i) {
    for (auto& value : image) {
      x = x * 1664525 + 1013904223;
      value = 0x3f800000U | x >> 9; // 1 to 2
    }
    file.write(reinterpret_cast<const char*>(image.data()),
               static_cast<std::streamsize>(image.size() * sizeof image[0]));
  }
  return raw_records(path, dtype::f32, {3, 224, 224}).batch(options.rows);
}

double seconds_since(clock::time_point begin) {
  return std::chrono::duration<double>(clock::now() - begin).count();
}

/// In microseconds.
class durations {
public:
  template <class Call>
  auto of(Call call) {
    const auto begin = clock::now();
    auto result = call();
    all_.push_back(seconds_since(begin) * 1e6);
    return result;
  }
  double quantile(double q) {
    if (all_.empty())
      return 0;
    std::sort(all_.begin(), all_.end());
    return all_[std::min(all_.size() - 1, static_cast<std::size_t>(q * double(all_.size())))];
  }
  /// Judged on a GPU alone.
  void report_as(const std::string& check, bool is_judged) {
    const auto p99 = quantile(0.99);
    report({.check = check,
            .wanted = is_judged ? "p99 below 1 ms" : "",
            .found = "p50 " + number(quantile(0.5)) + " us, p99 " + number(p99) + " us, longest "
                     + number(quantile(1)) + " us (" + std::to_string(all_.size()) + ")",
            .is_good = is_judged ? std::optional{p99 < 1000} : std::nullopt});
  }

private:
  std::vector<double> all_;
};

void report_copies(loader& from, const driver& gpu, const times_options& options) {
  auto* stream = gpu.make_stream();
  const auto start = clock::now();
  from.next().on_device(stream);
  report({.check = "first batch: data opened, memory made and pinned",
          .found = number(seconds_since(start), 2) + " s"});
  for (std::size_t i = 0; i < first_steps; ++i)
    from.next().on_device(stream);
  gpu.finish(stream);
  const auto before = from.stats().device.value_or(device_stats{});
  const auto begin = clock::now();
  while (seconds_since(begin) < options.seconds / 2)
    from.next().on_device(stream);
  gpu.finish(stream);
  const auto took = seconds_since(begin);
  const auto after = from.stats().device.value_or(device_stats{});
  gpu.end_stream(stream);
  report({.check = "copies, as fast as batches are made",
          .found = number(double(after.bytes - before.bytes) / took / 1e9) + " GB/s, "
                   + number(double(after.batches - before.batches) / took) + " batches/s of "
                   + number(double(options.rows * image_elements * 4) / 1e6) + " MB"});
  report({.check = "slots are pinned",
          .wanted = "yes",
          .found = after.is_pinned ? "yes" : "no",
          .is_good = after.is_pinned});
}

void report_calls(std::size_t steps, bool is_judged) {
  std::string made;
  std::string waits;
  std::string per_batch;
  double longest = 0;
  for (const auto& x : watched_calls()) {
    const std::string_view name = x.name;
    const auto text = x.name + " " + std::to_string(x.calls) + " times";
    if (name.find("Alloc") != name.npos || name.find("Free") != name.npos
        || name.find("Register") != name.npos || name.find("Create") != name.npos
        || name.find("Destroy") != name.npos)
      made += (made.empty() ? "" : ", ") + text;
    if (name.find("Synchronize") != name.npos && x.by_trainer > 0)
      waits += (waits.empty() ? "" : ", ") + x.name + " " + std::to_string(x.by_trainer) + " times";
    per_batch +=
        (per_batch.empty() ? "" : ", ") + x.name + " " + number(double(x.calls) / double(steps));
    longest = std::max(longest, double(x.longest_by_trainer_ns) / 1e3);
  }
  report({.check = "driver's memory, streams and events made or ended in steady state",
          .wanted = is_judged ? "none" : "",
          .found = made.empty() ? "none" : made,
          .is_good = is_judged ? std::optional{made.empty()} : std::nullopt});
  report({.check = "leat's waits for the device in the trainer's thread",
          .wanted = "none",
          .found = waits.empty() ? "none" : waits,
          .is_good = waits.empty()});
  report({.check = "leat's longest call of the driver in the trainer's thread",
          .wanted = is_judged ? "below 1 ms" : "",
          .found = number(longest) + " us",
          .is_good = is_judged ? std::optional{longest < 1000} : std::nullopt});
  report({.check = "leat's calls of the driver for a batch", .found = per_batch});
}

void report_trainer(loader& from, const driver& gpu, const times_options& options) {
  auto* stream = gpu.make_stream();
  std::array<driver::event, steps_ahead> done = {};
  for (auto& x : done)
    x = gpu.make_event();
  durations next;
  durations lend;
  durations drop;
  std::size_t steps = 0;
  auto before = device_stats{};
  auto begin = clock::now();
  for (std::size_t i = 0; i < first_steps || seconds_since(begin) < options.seconds / 2; ++i) {
    if (i == first_steps) {
      next = lend = drop = {};
      steps = 0;
      before = from.stats().device.value_or(device_stats{});
      watch_again();
      begin = clock::now();
    }
    if (i >= steps_ahead) // the trainer's own wait
      gpu.wait_here(done[i % steps_ahead]);
    auto x = next.of([&] { return from.next(); });
    lend.of([&] { return x.on_device(stream), 0; });
    gpu.delay(stream, step_ns);
    drop.of([&] { return x.reset(), 0; });
    gpu.record(done[i % steps_ahead], stream);
    ++steps;
  }
  const auto after = from.stats().device.value_or(device_stats{});
  gpu.finish(stream);
  for (auto* x : done)
    gpu.end_event(x);
  gpu.end_stream(stream);
  const auto beside = gpu.can_delay() ? ", beside work of 60 ms a step" : ", without any work";
  next.report_as("time of next()" + std::string{beside}, gpu.can_delay());
  lend.report_as("time of on_device()" + std::string{beside}, gpu.can_delay());
  drop.report_as("time of a lease's end" + std::string{beside}, gpu.can_delay());
  report({.check = "batches that were handed over before their copies were done",
          .found = std::to_string(after.waits - before.waits) + " of " + std::to_string(steps)});
  report_calls(steps, gpu.can_delay());
}

} // namespace

void check_times(const driver& gpu, const times_options& options) {
  be_trainer();
  loader from{images(options), {.epochs = 1'000'000, .device = "cuda:0"}};
  report_copies(from, gpu, options);
  report_trainer(from, gpu, options);
}

} // namespace leat::gpu_check
