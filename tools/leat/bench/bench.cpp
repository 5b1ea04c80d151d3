#include <leat/bare_loop.hpp>
#include <leat/image.hpp>
#include <leat/loader.hpp>
#include <leat/pipeline_facts.hpp>
#include <leat/sources.hpp>

#include "tools/leat/bench/decode_timing.hpp"
#include "tools/leat/bench/spread.hpp"
#include "tools/leat/device_facts.hpp"
#include "tools/leat/job_options.hpp"
#include "tools/leat/option_values.hpp"
#include "tools/leat/output.hpp"
#include "tools/leat/subcommands.hpp"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace leat::command {

namespace {

using nlohmann::json;

struct bench_options {
  order_options order;
  std::optional<std::size_t> workers;
  std::optional<transform> maps;
  std::uint64_t rounds = 5;
  /// About how long a round is, each way.
  std::uint64_t seconds = 2;
  /// Rows of a round instead.
  std::optional<std::uint64_t> samples;
  std::string device = "cpu";
  std::string decoder = "auto";
  bool no_plain = false;
  bool no_decode = false;
  bool json = false;
};

struct plan {
  pipeline job;
  std::size_t threads = 1;
  bare_loop bare;
  /// The same job with plain C++ in place of leat's decoding, if it decodes.
  std::optional<bare_loop> plain = {};
  /// Rows of a round; whole batches.
  std::uint64_t rows = 0;
};

/// The cost of decoding alone.
struct decoding {
  decode_transform transform = decode_transform::train;
  decode_cases cases = {};
  std::vector<way_timing> ways = {};
  std::size_t own = 0;
  /// Set if leat's own decoder takes any of the images.
  std::optional<parts_timing> parts = {};
};

/// Epochs that hold the rows of a round.
std::uint64_t epochs_of(const plan& x) {
  const auto per_epoch = x.bare.epoch_rows();
  return (x.rows + per_epoch - 1) / per_epoch;
}

/// Reads the same rows through a loader whose consumer drops every batch at once. Its start counts.
std::chrono::nanoseconds through_loader(const plan& x) {
  auto start = std::chrono::steady_clock::now();
  loader loader{x.job, {.workers = x.threads, .epochs = epochs_of(x)}};
  for (std::uint64_t rows = 0; rows < x.rows;)
    rows += loader.next()->valid_rows();
  return std::chrono::steady_clock::now() - start;
}

/// The same to a device, whose consumer waits until each batch is there. `told`: of this round.
std::chrono::nanoseconds to_device(const plan& x, const bench_options& as, device_stats& told) {
  auto start = std::chrono::steady_clock::now();
  loader loader{
      x.job,
      {.workers = x.threads, .epochs = epochs_of(x), .device = as.device, .decoder = as.decoder}};
  for (std::uint64_t rows = 0; rows < x.rows;) {
    auto batch = loader.next();
    batch.on_device_for_all();
    rows += batch->valid_rows();
  }
  const auto took = std::chrono::steady_clock::now() - start;
  told = loader.stats().device.value_or(device_stats{});
  return took;
}

/// Number of rows that the bare loop makes in about this time. Also warms up caches and clock
/// rates.
std::uint64_t rows_in(const bare_loop& x, double seconds) {
  constexpr double enough = 0.3;
  const auto batch_rows = x.batch_rows();
  for (auto rows = batch_rows;; rows *= 2)
    if (auto took = in_seconds(x.run(rows)); took >= enough) {
      auto batches = static_cast<double>(rows) * seconds / took / static_cast<double>(batch_rows);
      return std::max<std::uint64_t>(1, std::llround(batches)) * batch_rows;
    }
}

plan plan_of(const bench_options& x) {
  const auto job = job_pipeline(x.order, x.maps);
  const auto threads = x.workers.value_or(std::max(1U, std::thread::hardware_concurrency()));
  plan result{.job = job, .threads = threads, .bare = bare_loop{job, threads}};
  if (const auto plain = x.no_plain ? std::nullopt : plain_job(job))
    result.plain.emplace(*plain, threads);
  const auto batch_rows = result.bare.batch_rows();
  auto batches = x.samples ? std::max<std::uint64_t>(1, *x.samples / batch_rows) : 0;
  result.rows =
      x.samples ? batches * batch_rows : rows_in(result.bare, static_cast<double>(x.seconds));
  return result;
}

/// A loop over the same rows: rows per second, one entry per round.
struct timed_loop {
  std::string name;
  std::function<std::chrono::nanoseconds()> run;
  series rates = {};
};

/// The bare loop, the loader, and those that there are of the plain loop and a loader to a device.
std::vector<timed_loop> loops_of(const plan& x, const bench_options& as, device_stats& told) {
  std::vector<timed_loop> loops{{"bare", [&] { return x.bare.run(x.rows); }},
                                {"loader", [&] { return through_loader(x); }}};
  if (x.plain)
    loops.push_back({"plain", [&] { return x.plain->run(x.rows); }});
  if (as.device != "cpu")
    loops.push_back({"device", [&] { return to_device(x, as, told); }});
  return loops;
}

/// Runs one round: all loops in turn, each time another one first.
void measure(const plan& x, std::uint64_t round, std::vector<timed_loop>& loops) {
  for (std::size_t i = 0; i < loops.size(); ++i) {
    auto& loop = loops[(i + round) % loops.size()];
    loop.rates.push_back(static_cast<double>(x.rows) / std::max(1e-9, in_seconds(loop.run())));
  }
}

/// The loop of this name; null: there is none.
const timed_loop* find(const std::vector<timed_loop>& loops, const std::string& name) {
  const auto found =
      std::find_if(loops.begin(), loops.end(), [&](const auto& x) { return x.name == name; });
  return found == loops.end() ? nullptr : &*found;
}

void print_text(const std::vector<timed_loop>& loops) {
  const auto print = [](const char* name, const series& x) {
    print_line(name + to_text(spread_of(x), 0) + " per second");
  };
  const auto print_ratio = [&](const char* name, const timed_loop& to) {
    print_line(name + to_text(spread_of(ratios(loops[1].rates, to.rates)), 3));
  };
  print("bare loop  ", loops[0].rates);
  print("loader     ", loops[1].rates);
  print_ratio("ratio      ", loops[0]);
  if (const auto* plain = find(loops, "plain")) {
    print("plain loop  ", plain->rates);
    print_ratio("loader / plain  ", *plain);
  }
  if (const auto* device = find(loops, "device")) {
    print("to the device  ", device->rates);
    print_line("device / loader  " + to_text(spread_of(ratios(device->rates, loops[1].rates)), 3));
  }
}

/// Of the last round.
void print_text(const device_stats& x, std::uint64_t rows) {
  const auto each = [&](double number) {
    return number / static_cast<double>(std::max<std::uint64_t>(1, rows));
  };
  print_line("copied to it     " + fixed(each(static_cast<double>(x.bytes)) / 1e3, 1)
             + " kB a row beside images that are decoded there");
  if (!x.decoder)
    return;
  const auto& decoder = *x.decoder;
  const auto images = static_cast<double>(std::max<std::uint64_t>(1, decoder.images));
  print_line("decoded there    " + with_commas(decoder.images) + " images in "
             + with_commas(decoder.groups)
             + " groups: " + fixed(static_cast<double>(decoder.bytes) / images / 1e3, 1)
             + " kB copied, " + fixed(1e6 * in_seconds(decoder.prepared) / images, 1)
             + " us of a worker, " + fixed(1e6 * in_seconds(decoder.waited) / images, 1)
             + " us waited for the device, each");
  for (const auto& [why, number] : decoder.on_cpu)
    print_line("by processors    " + with_commas(number) + " images: " + why);
}

json to_json(const plan& x, const std::vector<timed_loop>& loops) {
  json result{{"workers", x.threads}, {"samples", x.rows}, {"rounds", json::array()}};
  const auto add = [&](const std::string& name, const series& values) {
    const auto all = spread_of(values);
    result[name] = all.median;
    result[name + "_range"] = {all.low, all.high};
  };
  for (const auto& loop : loops) {
    add(loop.name, loop.rates);
    for (std::size_t i = 0; i < loop.rates.size(); ++i)
      result["rounds"][i][loop.name] = loop.rates[i];
  }
  add("ratio", ratios(loops[1].rates, loops[0].rates));
  if (const auto* plain = find(loops, "plain"))
    add("plain_ratio", ratios(loops[1].rates, plain->rates));
  if (const auto* device = find(loops, "device"))
    add("device_ratio", ratios(device->rates, loops[1].rates));
  return result;
}

bool evaluates(const pipeline& job) {
  bool found = false;
  for_each_operator(operators_of(job), [&](const operator_facts& x) {
    found = found || (is_map(x) && x.get<std::string>("name").starts_with("eval_image@"));
  });
  return found;
}

/// Times of decoding the data's JPEGs to 224 x 224, normalised floats; nothing if there are none.
std::optional<decoding> measure_decoding(const plan& x, std::uint64_t rounds) {
  constexpr std::size_t most_images = 200;
  decoding result;
  if (evaluates(x.job))
    result.transform = decode_transform::eval;
  for (const auto& data : indexed_sources(x.job))
    if (result.cases.images.empty())
      result.cases = load_cases(*data, result.transform, most_images);
  if (result.cases.images.empty())
    return std::nullopt;
  const image_options standard;
  const tensor_form form{.mean = standard.mean, .std = standard.std};
  result.ways = time_ways(result.cases, form, make_workers(x.threads), rounds);
  const auto own = own_ones(result.cases);
  result.own = own.size();
  if (!own.empty())
    result.parts = time_parts(own, form, rounds);
  return result;
}

const char* name_of(decode_transform x) {
  return x == decode_transform::train ? "random crop" : "central crop";
}

void print_text(const decoding& x) {
  print_line("");
  print_line("decoding alone: " + with_commas(x.cases.images.size()) + " JPEGs of "
             + readable_bytes(static_cast<std::uint64_t>(mean_bytes(x.cases))) + " in memory, "
             + with_commas(x.own) + " of them by leat's own decoder, " + name_of(x.transform)
             + " to f32");
  for (const auto& timing : x.ways) {
    print_line("");
    print_ways(timing);
  }
  if (!x.parts)
    return;
  print_line("");
  print_parts(*x.parts);
}

json to_json(const decoding& x) {
  json result{{"images", x.cases.images.size()},
              {"bad", x.cases.bad},
              {"own", x.own},
              {"transform", name_of(x.transform)},
              {"ways", to_json(x.ways)}};
  if (x.parts)
    result["parts"] = to_json(*x.parts);
  return result;
}

void bench(const bench_options& x) {
  const auto plan = plan_of(x);
  device_stats told;
  auto loops = loops_of(plan, x, told);
  if (!x.json)
    print_notice("bench", with_commas(plan.rows) + " rows per round, "
                              + std::to_string(plan.threads)
                              + " threads; the first round warms up");
  measure(plan, 0, loops);
  for (auto& loop : loops)
    loop.rates.clear();
  for (std::uint64_t i = 0; i < x.rounds; ++i)
    measure(plan, i, loops);
  if (!x.json) {
    print_text(loops);
    if (x.device != "cpu")
      print_text(told, plan.rows);
    flush_output();
  }
  const auto alone = x.no_decode ? std::nullopt : measure_decoding(plan, x.rounds);
  if (x.json) {
    auto result = to_json(plan, loops);
    if (x.device != "cpu")
      result["on_device"] = device_to_json(told);
    if (alone)
      result["decoding"] = to_json(*alone);
    print_line(result.dump());
  } else if (alone) {
    print_text(*alone);
  }
}

} // namespace

void add_bench(CLI::App& app) {
  auto* sub =
      app.add_subcommand("bench", "Compare the loader with a bare loop that does the same work");
  auto x = std::make_shared<bench_options>();
  add_order_options(*sub, x->order);
  whole_number(
      sub->add_option("--workers", x->workers, "Threads of each loop; default: one per core"), 1,
      4096);
  add_transform_option(*sub, x->maps);
  add_device_options(*sub, x->device, x->decoder);
  sub->option_defaults()->always_capture_default();
  whole_number(sub->add_option("--rounds", x->rounds, "Rounds that count; each runs all loops"), 1,
               10'000);
  whole_number(
      sub->add_option("--seconds", x->seconds, "Approximate length of a round, for each loop"), 1,
      3600);
  sub->option_defaults()->always_capture_default(false);
  whole_number(sub->add_option("--samples", x->samples, "Rows per round, in place of --seconds"),
               1);
  sub->add_flag("--no-plain", x->no_plain,
                "Leave out the plain loop, which decodes with libjpeg-turbo alone");
  sub->add_flag("--no-decode", x->no_decode, "Leave out the times of decoding alone");
  sub->add_flag("--json", x->json, "Print a JSON object");
  sub->callback([x] { bench(*x); });
}

} // namespace leat::command
