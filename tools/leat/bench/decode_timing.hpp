#pragma once

#include <leat/decode_times.hpp>

#include "tools/leat/bench/decode_ways.hpp"
#include "tools/leat/bench/spread.hpp"
#include <nlohmann/json.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace leat::command {

/// Microseconds per image, by part.
using part_times = std::array<double, num_decode_parts>;

/// Every way of decoding on this many threads: images per second, one entry per round.
struct way_timing {
  std::size_t threads = 1;
  std::array<series, decode_ways.size()> rates = {};
};

/// Where the time of leat's own decoder goes, on one thread: microseconds per image, medians.
struct parts_timing {
  part_times without_index = {};
  part_times with_index = {};
};

/// The images that leat's own decoder takes.
std::vector<const decode_case*> own_ones(const decode_cases& images);

/// Decodes all images once in this thread.
part_times time_parts(image_decoder& by, const std::vector<const decode_case*>& images,
                      bool with_rows, const tensor_form& form, image_ring& to);

double sum_of(const part_times& x);
/// Each part's median.
part_times medians(const std::vector<part_times>& rounds);

/// Times all ways in turn, each round another one first, after a round that warms up: with one
/// worker, and with all workers. `images` is not empty.
std::vector<way_timing> time_ways(const decode_cases& images, const tensor_form& form,
                                  const decode_workers& workers, std::uint64_t rounds);

/// `images` is not empty.
parts_timing time_parts(const std::vector<const decode_case*>& images, const tensor_form& form,
                        std::uint64_t rounds);

/// Tables, as lines of text.
void print_ways(const way_timing& x);
void print_parts(const parts_timing& x);

/// [{way, threads, rate, rate_range, plain_ratio, plain_ratio_range}, ...]
nlohmann::json to_json(const std::vector<way_timing>& x);
/// [{part, us, us_with_row_index}, ...]
nlohmann::json to_json(const parts_timing& x);

} // namespace leat::command
