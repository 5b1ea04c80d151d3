#include "tools/leat/bench/decode_timing.hpp"

#include "tools/leat/output.hpp"

#include <cstdio>
#include <numeric>
#include <string>

namespace leat::command {

namespace {

using nlohmann::json;

constexpr std::size_t plain_way = 0;
static_assert(decode_ways[plain_way] == decode_way::plain);

void add_round(const decode_cases& cases, const tensor_form& form, const decode_workers& workers,
               std::uint64_t round, way_timing& to) {
  for (std::size_t i = 0; i < decode_ways.size(); ++i) {
    const auto way = (i + round) % decode_ways.size();
    const auto seconds = decode_all(decode_ways[way], cases.images, form, workers, to.threads);
    to.rates[way].push_back(static_cast<double>(cases.images.size()) / seconds);
  }
}

template <class... Args>
void print_row(const char* format, Args... args) {
  char text[160];
  std::snprintf(text, sizeof text, format, args...);
  print_line(text);
}

} // namespace

std::vector<const decode_case*> own_ones(const decode_cases& images) {
  std::vector<const decode_case*> result;
  for (const auto& x : images.images)
    if (x.is_own)
      result.push_back(&x);
  return result;
}

part_times time_parts(image_decoder& by, const std::vector<const decode_case*>& images,
                      bool with_rows, const tensor_form& form, image_ring& to) {
  decode_times times;
  by.time(&times);
  for (const auto* x : images)
    x->decode(by, with_rows, form, to.next());
  by.time(nullptr);
  part_times result{};
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = 1e6 * in_seconds(times.time_in(static_cast<decode_part>(i)))
                / static_cast<double>(images.size());
  return result;
}

double sum_of(const part_times& x) {
  return std::accumulate(x.begin(), x.end(), 0.0);
}

part_times medians(const std::vector<part_times>& rounds) {
  part_times result{};
  for (std::size_t i = 0; i < result.size(); ++i) {
    series values;
    values.reserve(rounds.size());
    for (const auto& x : rounds)
      values.push_back(x[i]);
    result[i] = spread_of(std::move(values)).median;
  }
  return result;
}

std::vector<way_timing> time_ways(const decode_cases& images, const tensor_form& form,
                                  const decode_workers& workers, std::uint64_t rounds) {
  std::vector<way_timing> result{{.threads = 1}};
  if (workers.size() > 1)
    result.push_back({.threads = workers.size()});
  way_timing warm{.threads = workers.size()};
  add_round(images, form, workers, 0, warm);
  for (std::uint64_t round = 0; round < rounds; ++round)
    for (auto& x : result)
      add_round(images, form, workers, round, x);
  return result;
}

parts_timing time_parts(const std::vector<const decode_case*>& images, const tensor_form& form,
                        std::uint64_t rounds) {
  image_decoder decoder;
  image_ring to;
  std::vector<part_times> without;
  std::vector<part_times> with;
  time_parts(decoder, images, false, form, to);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    without.push_back(time_parts(decoder, images, false, form, to));
    with.push_back(time_parts(decoder, images, true, form, to));
  }
  return {medians(without), medians(with)};
}

void print_ways(const way_timing& x) {
  const auto title = std::to_string(x.threads) + (x.threads == 1 ? " thread" : " threads");
  print_row("%-20s %-24s %10s  %s", title.c_str(), "images a second", "us each", "/ plain loop");
  for (std::size_t i = 0; i < x.rates.size(); ++i) {
    const auto rate = spread_of(x.rates[i]);
    print_row("%-20s %-24s %10.1f  %s", name_of(decode_ways[i]), to_text(rate, 0).c_str(),
              1e6 * static_cast<double>(x.threads) / rate.median,
              to_text(spread_of(ratios(x.rates[i], x.rates[plain_way])), 2).c_str());
  }
}

void print_parts(const parts_timing& x) {
  print_row("%-32s %17s  %17s", "own decoder, us an image", "no row index", "with it");
  const auto without = sum_of(x.without_index);
  const auto with = sum_of(x.with_index);
  for (std::size_t i = 0; i < num_decode_parts; ++i)
    print_row("%-32s %10.1f %5.1f%%  %10.1f %5.1f%%", to_string(static_cast<decode_part>(i)),
              x.without_index[i], 100 * x.without_index[i] / without, x.with_index[i],
              100 * x.with_index[i] / with);
  print_row("%-32s %10.1f         %10.1f", "all", without, with);
}

json to_json(const std::vector<way_timing>& x) {
  auto result = json::array();
  for (const auto& timing : x)
    for (std::size_t i = 0; i < timing.rates.size(); ++i) {
      const auto rate = spread_of(timing.rates[i]);
      const auto ratio = spread_of(ratios(timing.rates[i], timing.rates[plain_way]));
      result.push_back({{"way", name_of(decode_ways[i])},
                        {"threads", timing.threads},
                        {"rate", rate.median},
                        {"rate_range", {rate.low, rate.high}},
                        {"plain_ratio", ratio.median},
                        {"plain_ratio_range", {ratio.low, ratio.high}}});
    }
  return result;
}

json to_json(const parts_timing& x) {
  auto result = json::array();
  for (std::size_t i = 0; i < num_decode_parts; ++i)
    result.push_back({{"part", to_string(static_cast<decode_part>(i))},
                      {"us", x.without_index[i]},
                      {"us_with_row_index", x.with_index[i]}});
  return result;
}

} // namespace leat::command
