#include "runtime/row_index.hpp"

#include "runtime/image_format.hpp"
#include "runtime/jpeg/plane_decoder.hpp"
#include "runtime/jpeg/row_places.hpp"
#include "runtime/open_files.hpp"
#include "runtime/tar_index.hpp"

#include <leat/bad_sample.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <numeric>
#include <thread>

namespace leat {

namespace {

constexpr std::size_t max_pixels = std::size_t{1} << 27; // as of decode_options

/// Of one field: nothing where its rows cannot be found.
std::vector<std::byte> places_of(plane_decoder& decoder, std::span<const std::byte> file) try {
  decoder.open(file, max_pixels);
  const auto places = decoder.survey();
  return places.empty() ? std::vector<std::byte>{} : write_row_places(file, places);
} catch (const bad_sample&) {
  return {}; // whoever reads it will hear of it
}

/// One thread's work, shard by shard.
class surveyor {
public:
  surveyor(const std::vector<std::string>& shards, const tar_options& options)
      : shards_(shards), options_(options) {}

  /// Surveys a shard that has not been; `on_bytes` hears of progress.
  template <class OnBytes>
  void survey(std::size_t number, OnBytes on_bytes) {
    const auto& shard = shards_[number];
    const auto index = open_tar_index(shard, options_);
    if (index.has_places()) {
      count(index);
      return on_bytes(index.shard_bytes());
    }
    const auto file = file_descriptor::open(shard);
    const auto stamp = stamp_of(file, shard);
    std::vector<std::vector<std::byte>> places;
    places.reserve(index.all_fields().size());
    std::uint64_t told = 0;
    for (const auto& field : index.all_fields()) {
      content_.resize(field.size);
      read_fully(file, shard, field.offset(), content_);
      const bool is_jpeg = image_format(content_) == "JPEG";
      places.push_back(is_jpeg ? places_of(decoder_, content_) : std::vector<std::byte>{});
      facts.bytes_read += field.size;
      count(is_jpeg, field.size, places.back().size());
      on_bytes(field.size);
      told += field.size;
    }
    facts.not_stored += store_tar_index(shard, options_, index.with_places(stamp, places)) ? 0 : 1;
    on_bytes(index.shard_bytes() - told);
  }

  row_index_facts facts;

private:
  void count(bool is_jpeg, std::uint64_t image_bytes, std::uint64_t index_bytes) {
    facts.images += is_jpeg ? 1 : 0;
    facts.indexed += index_bytes > 0 ? 1 : 0;
    facts.image_bytes += is_jpeg ? image_bytes : 0;
    facts.index_bytes += index_bytes;
  }
  /// Of an index that is there already, only images with rows are known to be images.
  void count(const tar_index& index) {
    for (const auto& field : index.all_fields()) {
      const auto places = index.places(field);
      count(!places.empty(), field.size, places.size());
    }
  }

  const std::vector<std::string>& shards_;
  const tar_options& options_;
  plane_decoder decoder_;
  std::vector<std::byte> content_;
};

void add(row_index_facts& to, const row_index_facts& x) {
  to.bytes_read += x.bytes_read;
  to.images += x.images;
  to.indexed += x.indexed;
  to.image_bytes += x.image_bytes;
  to.index_bytes += x.index_bytes;
  to.not_stored += x.not_stored;
}

std::uint64_t bytes_of(const std::vector<std::string>& shards) {
  return std::transform_reduce(
      shards.begin(), shards.end(), std::uint64_t{0}, std::plus<>{},
      [](const std::string& x) { return stamp_of(file_descriptor::open(x), x).size; });
}

} // namespace

row_index_facts build_row_index(const std::vector<std::string>& shards, const tar_options& options,
                                const row_index_progress& progress) {
  const auto all = bytes_of(shards);
  row_index_facts facts;
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::uint64_t done = 0;
  std::exception_ptr failed;
  auto work = [&] {
    surveyor own{shards, options};
    try {
      for (auto i = next++; i < shards.size(); i = next++)
        own.survey(i, [&](std::uint64_t bytes) {
          const std::lock_guard lock{mutex};
          done += bytes;
          if (progress)
            progress(done, all);
        });
    } catch (...) {
      next = shards.size();
      const std::lock_guard lock{mutex};
      failed = std::current_exception();
    }
    const std::lock_guard lock{mutex};
    add(facts, own.facts);
  };
  {
    std::vector<std::jthread> helpers;
    const auto threads = std::min<std::size_t>(std::thread::hardware_concurrency(), shards.size());
    helpers.reserve(threads);
    for (std::size_t i = 1; i < threads; ++i)
      helpers.emplace_back(work);
    work();
  }
  if (failed)
    std::rethrow_exception(failed);
  return facts;
}

} // namespace leat
