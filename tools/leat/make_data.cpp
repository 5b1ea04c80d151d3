#include "runtime/base/error_in_flight.hpp"

#include "tools/leat/option_values.hpp"
#include "tools/leat/output.hpp"
#include "tools/leat/subcommands.hpp"
#include "tools/made_data/synthetic_photos.hpp"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

namespace leat::command {

namespace {

struct make_data_options {
  std::string directory;
  synthetic_options data;
  bool json = false;
};

void make_data(const make_data_options& x) {
  if (std::filesystem::exists(x.directory) && !std::filesystem::is_empty(x.directory))
    refuse_argument("DIR", "\"" + x.directory + "\", which is not empty",
                    "a new or empty directory");
  auto start = std::chrono::steady_clock::now();
  make_synthetic_data(x.directory, x.data);
  auto seconds = in_seconds(std::chrono::steady_clock::now() - start);
  if (!x.json)
    return print_line("made " + with_commas(x.data.samples) + " images in "
                      + with_commas(x.data.shards) + " shards in " + x.directory + " ("
                      + fixed(seconds, 1) + " s)");
  print_line(nlohmann::json{
      {"directory", x.directory},
      {"samples", x.data.samples},
      {"shards", x.data.shards},
      {"seed", x.data.seed},
      {"seconds",
       seconds}}.dump());
}

} // namespace

void add_make_data(CLI::App& app) {
  auto* sub =
      app.add_subcommand("make-data", "Make photograph-like JPEGs of 10 classes in tar shards");
  auto x = std::make_shared<make_data_options>();
  sub->add_option("DIR", x->directory, "A new or empty directory")->required();
  sub->option_defaults()->always_capture_default();
  whole_number(sub->add_option("--samples", x->data.samples, "Number of images"), 1, 100'000'000);
  whole_number(sub->add_option("--shards", x->data.shards, "Number of tar files"), 1, 100'000'000);
  whole_number(sub->add_option("--seed", x->data.seed, "Every seed gives other images"), 0);
  sub->add_flag("--json", x->json, "Print a JSON object");
  sub->callback([x] { make_data(*x); });
}

} // namespace leat::command
