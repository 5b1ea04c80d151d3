#include <leat/run_worker.hpp>

#include "tools/leat/option_values.hpp"
#include "tools/leat/stop_signals.hpp"
#include "tools/leat/subcommands.hpp"
#include <CLI/CLI.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace leat::command {

namespace {

constexpr auto worker_name = "worker";

struct helper_command {
  worker_options worker;
  std::uint64_t memory_mb = 0;
};

/// Returns the exit code.
int help_until_stopped(const helper_command& x) {
  auto options = x.worker;
  for (auto& folder : options.data)
    folder = std::filesystem::absolute(folder).lexically_normal();
  return run_until_signal(worker_name, options, x.memory_mb, &run_worker);
}

} // namespace

void add_worker(CLI::App& app, int& status) {
  constexpr std::uint64_t most_cores = 4096;
  constexpr std::uint64_t most_mb = std::uint64_t{1} << 30;
  auto* sub =
      app.add_subcommand(worker_name, "Make rows for ranks that are short of cores, until it ends");
  auto x = std::make_shared<helper_command>();
  auto& to = x->worker;
  sub->add_option("--join", to.join, "Where a rank listens for helpers: its --workers-at")
      ->type_name("HOST:PORT")
      ->required();
  whole_number(sub->add_option("--cores", to.cores,
                               "Threads that make rows; otherwise the cores of this process"),
               1, most_cores)
      ->default_str("");
  whole_number(sub->add_option("--memory", x->memory_mb,
                               "The most memory of this process [MiB]; what does not fit is made "
                               "elsewhere"),
               64, most_mb)
      ->default_str("");
  whole_number(sub->add_option("--nice", to.nice, "Give way to other processes, as nice(1)"), 0, 19)
      ->default_str("0");
  sub->add_option("--data", to.data,
                  "Read files below this folder, which has to have the name that the rank knows; "
                  "other records are sent")
      ->type_name("DIR")
      ->allow_extra_args(false)
      ->default_str("");
  sub->add_option("--certs", to.certificates,
                  "Certificate and key for the role worker (leat certs issue) [LEAT_CLUSTER_CERTS]")
      ->type_name("DIR");
  sub->footer("LEAT_CLUSTER_TOKEN is the job's secret: set it in ranks and workers.");
  sub->callback([x, &status] { status = help_until_stopped(*x); });
}

} // namespace leat::command
