#include "tests/bench/host_part.hpp"

#include "runtime/image/device/image_group.hpp"
#include "runtime/image/jpeg/dct_scale.hpp"
#include "runtime/image/jpeg/plane_decoder.hpp"
#include "runtime/image/jpeg/row_places.hpp"
#include "runtime/image/jpeg/work_places.hpp"
#include "tests/bench/heap_count.hpp"

#include "tools/leat/bench/decode_ways.hpp"
#include "tools/leat/bench/spread.hpp"

#include <array>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>

namespace leat::bench {

namespace {

using command::decode_case;
using command::decode_way;

constexpr std::size_t max_pixels = std::size_t{1} << 27;
/// As a worker makes them.
constexpr std::size_t images_of_a_group = 64;

double thread_seconds() {
  timespec x{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &x);
  return static_cast<double>(x.tv_sec) + 1e-9 * static_cast<double>(x.tv_nsec);
}

/// What a worker needs of an image, and where its index has the places.
struct host_image {
  const decode_case* of;
  std::vector<std::byte> work;
};

std::vector<host_image> host_images(const std::vector<const decode_case*>& images) {
  std::vector<host_image> all;
  plane_decoder planes;
  for (const auto* x : images) {
    std::vector<work_place> work;
    planes.open(x->file, max_pixels);
    planes.survey(&work);
    all.push_back({x, write_work_places(x->file, work)});
  }
  return all;
}

/// The host's part of decoding on a device.
class host_worker {
public:
  explicit host_worker(const tensor_form& form)
      : form_(form), staging_(std::size_t{32} << 20), group_(staging_, std::size_t{1} << 30) {}

  enum class part : std::uint8_t { headers, by_work, by_rows };

  void make(const host_image& x, part what) {
    const auto& file = x.of->file;
    planes_.open(file, max_pixels);
    const auto& frame = planes_.scale(dct_scale_for(x.of->what));
    if (what == part::headers)
      return;
    if (what == part::by_work) {
      read_work_places(x.work, file, places_);
    } else {
      read_row_places(x.of->rows, file, rows_);
      as_work_places(frame, rows_, places_);
    }
    const group_image image{.file = file,
                            .frame = &frame,
                            .places = places_,
                            .plan = &x.of->what,
                            .form = &form_,
                            .pixels = staging_.data()}; // nobody writes there
    auto added = group_.add(image);
    if (added == image_group::added::full) {
      end_group();
      added = group_.add(image);
    }
    left_ += added == image_group::added::no ? 1 : 0;
    if (group_.size() == images_of_a_group)
      end_group();
  }

  void end_group() {
    if (group_.size() == 0)
      return;
    group_.seal(staging_.data(), nullptr);
    copied_ += group_.bytes_to_copy();
    group_.clear();
  }

  /// Bytes that went to the device, and images that were left to the processor.
  std::size_t copied() const noexcept { return copied_; }
  std::size_t left() const noexcept { return left_; }

private:
  tensor_form form_;
  std::vector<std::byte> staging_;
  image_group group_;
  plane_decoder planes_;
  std::vector<scan_place> rows_;
  std::vector<work_place> places_;
  std::size_t copied_ = 0;
  std::size_t left_ = 0;
};

/// One way, with what its rounds took.
struct measured {
  std::string name;
  std::function<void()> all;
  command::series us = {};
  double allocations = 0;
};

void print(const measured& x, const command::series& reference) {
  const auto us = command::spread_of(x.us);
  const auto share = command::spread_of(command::ratios(x.us, reference));
  const auto heap = counts_heap() ? std::to_string(x.allocations).substr(0, 4) : "-";
  std::printf("%-36s %8.2f (%6.2f .. %6.2f) %8.3f (%.3f .. %.3f) %8s\n", x.name.c_str(), us.median,
              us.low, us.high, share.median, share.low, share.high, heap.c_str());
}

} // namespace

void measure_host_part(const std::vector<const decode_case*>& images, const tensor_form& form,
                       std::uint64_t rounds) {
  using part = host_worker::part;
  const auto from = host_images(images);
  host_worker host{form};
  command::decode_worker processor;
  const auto host_way = [&](part what) {
    return [&, what] {
      for (const auto& x : from)
        host.make(x, what);
      host.end_group();
    };
  };
  std::array ways{measured{"the processor decodes, row index",
                           [&] {
                             for (const auto& x : from)
                               processor.make(decode_way::own_with_places, *x.of, form);
                           }},
                  measured{"a device does, places by work", host_way(part::by_work)},
                  measured{"a device does, row index", host_way(part::by_rows)},
                  measured{"  of which headers", host_way(part::headers)}};
  const auto count = static_cast<double>(from.size());
  for (auto& way : ways) {
    way.all(); // memory grows
    const auto before = heap_allocations();
    way.all();
    way.allocations = static_cast<double>(heap_allocations() - before) / count;
  }
  const auto copied = host.copied();
  const auto left = host.left();
  host_way(part::by_work)();
  const auto copied_by_work = host.copied() - copied;
  const auto left_by_work = host.left() - left;
  for (std::uint64_t round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < ways.size(); ++i) {
      auto& way = ways[(i + round) % ways.size()];
      const auto begin = thread_seconds();
      way.all();
      way.us.push_back(1e6 * (thread_seconds() - begin) / count);
    }
  std::printf("\n%-36s %8s %18s %8s %17s %8s\n", "the host's part, CPU us an image", "median", "",
              "/ first", "", "allocs");
  for (const auto& way : ways)
    print(way, ways[0].us);
  std::printf("%.1f KB an image go to the device; %zu of %zu images are left to the processor\n",
              static_cast<double>(copied_by_work) / count / 1e3, left_by_work, from.size());
}

} // namespace leat::bench
