#include "tools/leat/run.hpp"

#include "runtime/storage/durable_file.hpp"
#include "runtime/storage/output_place.hpp"

#include <leat/error.hpp>

#include "tools/leat/option_values.hpp"
#include "tools/leat/output.hpp"
#include "tools/leat/progress.hpp"
#include "tools/leat/run_options.hpp"
#include "tools/leat/training_job.hpp"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace leat::command {

namespace {

using nlohmann::json;

/// What the whole process did, over its ranks.
struct summary {
  training_progress progress;
  hash128 digest;
  std::optional<resume_point> resumed_at = {};
  std::vector<std::string> skipped = {};
  std::uint64_t snapshot_bytes = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t workers_replaced = 0;
  bad_counts bad{};
};

void check_snapshot_dir(const run_options& x) {
  if (x.snapshot_dir.empty() || x.resume || !std::filesystem::exists(x.snapshot_dir))
    return;
  if (!std::filesystem::is_directory(x.snapshot_dir))
    bad_usage("--snapshot-dir", "\"" + x.snapshot_dir + "\", which is a file", "a directory");
  for (const auto& entry : std::filesystem::directory_iterator{x.snapshot_dir})
    if (!belongs_to_other_rank(entry.path().filename().native(), x))
      bad_usage("--snapshot-dir", "\"" + x.snapshot_dir + "\", which is not empty",
                "--resume, or an empty directory");
}

void tell_of_resume(const run_options& x, const training_job& job) {
  if (!x.resume)
    return;
  for (const auto& set : job.skipped())
    print_notice("run", "skipped snapshot " + set);
  if (auto at = job.resumed_at())
    print_notice("run", "resumed at epoch " + std::to_string(at->epoch) + " step "
                            + std::to_string(at->step));
  else
    print_notice("run", "no complete snapshot in " + x.snapshot_dir + ": from the beginning");
}

/// Peak resident memory of this process.
std::uint64_t resident_bytes() {
  std::ifstream status{"/proc/self/status"};
  for (std::string word; status >> word;)
    if (std::uint64_t kilobytes = 0; word == "VmHWM:" && status >> kilobytes)
      return kilobytes * 1024;
  return 0;
}

summary sum_up(const training_job& job) {
  summary result{.progress = job.progress(),
                 .digest = job.digest(),
                 .resumed_at = job.resumed_at(),
                 .skipped = job.skipped()};
  for (const auto& x : job.stats()) {
    result.snapshot_bytes = std::max(result.snapshot_bytes, x.snapshot_bytes);
    result.bytes_read += x.bytes_read;
    result.workers_replaced += x.workers_replaced;
    for (std::size_t i = 0; i < num_causes; ++i)
      result.bad[i] += x.bad[i];
  }
  return result;
}

double samples_per_second(const training_progress& x) {
  auto seconds = in_seconds(x.elapsed);
  return seconds > 0 ? static_cast<double>(x.samples) / seconds : 0;
}

json to_json(const summary& x) {
  const auto& done = x.progress;
  return {{"samples", done.samples},
          {"seconds", in_seconds(done.elapsed)},
          {"samples_per_second", samples_per_second(done)},
          {"waited_seconds", in_seconds(done.waited)},
          {"first_batch_seconds", done.first_batch ? json(in_seconds(*done.first_batch)) : json()},
          {"snapshot_bytes", x.snapshot_bytes},
          {"resident_bytes", resident_bytes()},
          {"bytes_read", x.bytes_read},
          {"bad", bad_to_json(x.bad)},
          {"resumed_at", x.resumed_at
                             ? json{{"epoch", x.resumed_at->epoch}, {"step", x.resumed_at->step}}
                             : json()},
          {"skipped_snapshots", x.skipped},
          {"workers_replaced", x.workers_replaced},
          {"epoch", done.epoch},
          {"step", done.step},
          {"global_step", done.global_step},
          {"digest", to_string(x.digest)}};
}

void print_summary(const summary& x, const char* unit) {
  const auto& done = x.progress;
  auto seconds = in_seconds(done.elapsed);
  auto waiting = seconds > 0 ? 100 * in_seconds(done.waited) / seconds : 0;
  print_line(with_commas(done.samples) + " " + unit + " in " + fixed(seconds, 2) + " s: "
             + with_commas(static_cast<std::uint64_t>(std::llround(samples_per_second(done)))) + " "
             + unit + "/s");
  print_line("waiting for data  " + fixed(waiting, 1) + "% of the time");
  if (done.first_batch)
    print_line("first batch       " + fixed(1e3 * in_seconds(*done.first_batch), 1) + " ms");
  print_line("read              " + readable_bytes(x.bytes_read));
  print_line("memory, peak      " + readable_bytes(resident_bytes()));
  print_line("snapshot          " + readable_bytes(x.snapshot_bytes));
  print_line("bad samples       " + bad_to_json(x.bad).dump());
  for (const auto& set : x.skipped)
    print_line("skipped snapshot  " + set);
  print_line("next batch        epoch " + std::to_string(done.epoch) + " step "
             + std::to_string(done.step));
  print_line("digest            " + to_string(x.digest));
}

void write_stats(const std::string& file, const training_job& job, std::uint64_t first_rank) {
  auto workers = json::array();
  for (auto rank = first_rank; const auto& stats : job.stats()) {
    for (const auto& x : stats.workers)
      workers.push_back({{"rank", rank},
                         {"worker", x.worker},
                         {"rows_dealt", x.rows_dealt},
                         {"rows_done", x.rows_done},
                         {"busy_seconds", in_seconds(x.busy)},
                         {"bytes_read", x.bytes_read}});
    ++rank;
  }
  write_output(file, json{{"workers", workers}}.dump(2) + "\n", "--stats");
}

void run(const run_options& x) {
  auto settings = settings_of(x, std::max(1U, std::thread::hardware_concurrency()));
  check_snapshot_dir(x);
  // Before the job runs: hours of training should not end with "no such directory".
  if (!x.stats.empty())
    check_output(x.stats, "--stats");
  const auto data = job_pipeline(x.order, x.maps);
  check_length(x, data);
  const auto* unit = makes_images(data) ? "images" : "samples";
  training_job job{data, settings};
  tell_of_resume(x, job);
  {
    progress_display display{unit};
    job.run([&](const training_progress& now) { display.update(now); });
  }
  if (!x.stats.empty())
    write_stats(x.stats, job, settings.loader.rank);
  if (x.json)
    print_line(to_json(sum_up(job)).dump());
  else
    print_summary(sum_up(job), unit);
}

} // namespace

void add_run(CLI::App& app) {
  auto* sub = app.add_subcommand("run", "Run a training job that only reads, and show how fast");
  auto x = std::make_shared<run_options>();
  add_run_options(*sub, *x);
  sub->callback([x] { run(*x); });
}

} // namespace leat::command
