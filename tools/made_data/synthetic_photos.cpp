#include "tools/made_data/synthetic_photos.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <leat/rng.hpp>

#include "tools/made_data/jpeg_writer.hpp"
#include "tools/made_data/scene_painter.hpp"
#include "tools/made_data/tar_writer.hpp"

#include <algorithm>
#include <atomic>
#include <future>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace leat {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t max_samples = 100'000'000;

std::string digits(std::uint64_t number, std::size_t length) {
  std::string text = std::to_string(number);
  return std::string(length - std::min(length, text.size()), '0') + text;
}

std::string shard_name(std::uint64_t shard) {
  return "train-" + digits(shard, 6) + ".tar";
}

void check_range(const char* field, std::uint64_t got, std::uint64_t highest) {
  if (got < 1 || got > highest)
    refuse_argument("make_synthetic_data", std::string(field) + " = " + std::to_string(got),
                    "1 to " + std::to_string(highest));
}

[[noreturn]] void throw_io(const fs::path& path, const std::error_code& failure) {
  throw error(errc::io,
              {.stage = "make_synthetic_data", .file = path.string(), .got = failure.message()});
}

/// A directory that holds no shard but those to be replaced.
void prepare(const fs::path& directory, std::uint64_t shards) {
  std::error_code failure;
  fs::create_directories(directory, failure);
  if (failure)
    throw_io(directory, failure);
  std::set<std::string> ours;
  for (std::uint64_t shard = 0; shard < shards; ++shard)
    ours.insert(shard_name(shard));
  for (const auto& entry : fs::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("train-") && name.ends_with(".tar") && !ours.contains(name))
      throw_file_error(errc::invalid_argument, "make_synthetic_data", entry.path().string(),
                       "a shard that is not of " + std::to_string(shards),
                       "a directory without other shards");
  }
}

/// The class of every sample: equal parts, shuffled.
/// Source: Durstenfeld, "Algorithm 235: Random permutation", CACM 1964.
std::vector<std::uint8_t> draw_labels(const synthetic_options& options) {
  std::vector<std::uint8_t> labels(options.samples);
  for (std::uint64_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<std::uint8_t>(i % synthetic_classes.size());
  rng random(options.seed, 0);
  for (std::uint64_t left = labels.size(); left > 1; --left)
    std::swap(labels[left - 1], labels[random.below(left)]);
  return labels;
}

jpeg_kind draw_kind(rng& random) {
  if (random.below(20) == 0)
    return jpeg_kind::grayscale;
  return random.below(4) == 0 ? jpeg_kind::full_colour : jpeg_kind::half_colour;
}

std::vector<std::uint8_t> make_photo(std::uint64_t seed, std::uint64_t sample, std::size_t label) {
  rng random(seed, sample + 1); // 0 draws the labels
  const jpeg_kind kind = draw_kind(random);
  const int quality = 75 + static_cast<int>(random.below(21));
  return encode_jpeg(paint_scene(label, random), quality, kind);
}

void write_shard(const fs::path& directory, const synthetic_options& options, std::uint64_t shard,
                 const std::vector<std::uint8_t>& labels) {
  tar_writer tar(directory / shard_name(shard));
  const std::uint64_t end = options.samples * (shard + 1) / options.shards;
  for (std::uint64_t i = options.samples * shard / options.shards; i < end; ++i) {
    const std::string key = digits(i, 8);
    tar.add(key + ".jpg", make_photo(options.seed, i, labels[i]));
    tar.add(key + ".cls", std::to_string(labels[i]));
    tar.add(key + ".txt", synthetic_classes.at(labels[i]));
  }
  tar.finish();
}

/// Calls f(0) .. f(count - 1), on that many threads at a time, and throws what a failing call
/// threw, after all threads have ended.
template <class F>
void run_parallel(std::uint64_t count, std::size_t threads, F f) {
  std::atomic<std::uint64_t> next{0};
  std::vector<std::future<void>> pool;
  while (pool.size() < threads)
    pool.push_back(std::async(std::launch::async, [&] {
      try {
        for (std::uint64_t number = next++; number < count; number = next++)
          f(number);
      } catch (...) {
        next = count;
        throw;
      }
    }));
  for (auto& x : pool)
    x.get();
}

} // namespace

void make_synthetic_data(const fs::path& directory, const synthetic_options& options) {
  check_range("samples", options.samples, max_samples);
  check_range("shards", options.shards, options.samples);
  prepare(directory, options.shards);
  const auto labels = draw_labels(options);
  const std::size_t cores = std::max(std::thread::hardware_concurrency(), 1U);
  const std::size_t threads = options.threads == 0 ? cores : options.threads;
  run_parallel(options.shards, std::min<std::uint64_t>(threads, options.shards),
               [&](std::uint64_t shard) { write_shard(directory, options, shard, labels); });
}

} // namespace leat
