#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/not_copied.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/storage/durable_file.hpp"
#include "runtime/storage/open_directory.hpp"
#include "runtime/storage/output_place.hpp"

#include <leat/loader.hpp>

#include "tools/leat/bound.hpp"
#include "tools/leat/device_facts.hpp"
#include "tools/leat/feeds/feed_facts.hpp"
#include "tools/leat/helper_facts.hpp"
#include "tools/leat/option_values.hpp"
#include "tools/leat/output.hpp"
#include "tools/leat/progress.hpp"
#include "tools/leat/remote/remote_facts.hpp"
#include "tools/leat/run_options.hpp"
#include "tools/leat/shares.hpp"
#include "tools/leat/stop_signals.hpp"
#include "tools/leat/subcommands.hpp"
#include "tools/leat/training_job.hpp"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leat::command {

namespace {

using nlohmann::json;

/// What the whole process did, over its ranks.
struct summary {
  training_progress progress;
  std::optional<resume_point> resumed_at = {};
  std::vector<std::string> skipped = {};
  std::uint64_t snapshot_bytes = 0;
  std::uint64_t bytes_read = 0;
  pack_stats packed = {};
  std::optional<device_stats> device = {};
  std::optional<helper_stats> helped = {};
  /// Since the process began.
  std::optional<remote_stats> remote = {};
  std::vector<mix_counts> mixes = {};
  std::uint64_t workers_replaced = 0;
  bad_counts bad{};
  job_times times = {};
  /// The signal that ended the job early; 0: none.
  int signal = 0;
};

void check_snapshot_dir(const run_options& x) {
  if (x.snapshot_dir.empty() || x.resume || !x.cluster.empty()
      || !std::filesystem::exists(x.snapshot_dir))
    return;
  if (!std::filesystem::is_directory(x.snapshot_dir))
    refuse_argument("--snapshot-dir", "\"" + x.snapshot_dir + "\", which is a file", "a directory");
  std::error_code problem;
  for (const auto& entry : open_directory(x.snapshot_dir, problem))
    if (!belongs_to_other_rank(entry.path().filename().native(), x))
      refuse_argument("--snapshot-dir", "\"" + x.snapshot_dir + "\", which is not empty",
                      "--resume, or an empty directory");
  if (problem)
    refuse_argument("--snapshot-dir", "\"" + x.snapshot_dir + "\": " + problem.message(),
                    "a readable directory");
}

void tell_of_resume(const run_options& x, const training_job& job) {
  if (!x.resume && x.cluster.empty())
    return;
  for (const auto& set : job.skipped())
    print_notice("run", "skipped snapshot " + set);
  if (auto at = job.resumed_at())
    print_notice("run", "resumed at epoch " + std::to_string(at->epoch) + " step "
                            + std::to_string(at->step));
  else if (!x.snapshot_dir.empty())
    print_notice("run",
                 "no complete snapshot in " + x.snapshot_dir + ": starting from the beginning");
}

/// Peak resident memory of this process.
std::uint64_t resident_bytes() {
  std::ifstream status{"/proc/self/status"};
  for (std::string word; status >> word;)
    if (std::uint64_t kilobytes = 0; word == "VmHWM:" && status >> kilobytes)
      return kilobytes * 1024;
  return 0;
}

/// What had been fetched when the job began.
struct fetched_before {
  std::optional<remote_stats> asked = {};
  std::vector<feed_stats> fed = {};
};

summary sum_up(const training_job& job, const fetched_before& before, int signal) {
  summary result{.progress = job.progress(),
                 .resumed_at = job.resumed_at(),
                 .skipped = job.skipped(),
                 .snapshot_bytes = job.ranks().snapshot_bytes(),
                 .signal = signal};
  const auto ranks = job.ranks().stats();
  result.mixes = mixes_of(ranks);
  result.times = times_of(ranks, result.progress.elapsed, result.progress.waited);
  result.remote = remote_of(ranks);
  result.times.remote = since(before.asked, result.remote);
  result.times.feeds = feeds_since(before.fed, feeds_of(ranks));
  for (const auto& x : ranks) {
    result.bytes_read += x.bytes_read;
    result.packed.elements += x.packed.elements;
    result.packed.padding += x.packed.padding;
    add_device(x.device, result.device);
    add_helped(x.helped, result.helped);
    result.workers_replaced += x.workers_replaced;
    for (std::size_t i = 0; i < num_causes; ++i)
      result.bad[i] += x.bad[i];
  }
  return result;
}

std::string more_progress(const training_job& job,
                          const std::optional<remote_stats>& asked_before) {
  const auto ranks = job.ranks().stats();
  auto text = shares_text(mixes_of(ranks));
  const auto asked = remote_progress(since(asked_before, remote_of(ranks)), job.progress().elapsed);
  return text.empty() || asked.empty() ? text + asked : text + "  " + asked;
}

double per_second(std::uint64_t number, const training_progress& x) {
  auto seconds = in_seconds(x.elapsed);
  return seconds > 0 ? static_cast<double>(number) / seconds : 0;
}

double samples_per_second(const training_progress& x) {
  return per_second(x.samples, x);
}

json stages_to_json(const std::vector<stage_stats>& stages) {
  auto result = json::array();
  for (const auto& x : stages)
    result.push_back({{"stage", x.name}, {"seconds", in_seconds(x.time)}});
  return result;
}

json to_json(const summary& x) {
  const auto& done = x.progress;
  return {{"samples", done.samples},
          {"seconds", in_seconds(done.elapsed)},
          {"samples_per_second", samples_per_second(done)},
          {"tokens", done.tokens},
          {"tokens_per_second", per_second(done.tokens, done)},
          {"waited_seconds", in_seconds(done.waited)},
          {"first_batch_seconds", done.first_batch ? json(in_seconds(*done.first_batch)) : json()},
          {"snapshot_bytes", x.snapshot_bytes},
          {"resident_bytes", resident_bytes()},
          {"bytes_read", x.bytes_read},
          {"device", device_to_json(x.device)},
          {"helpers", helped_to_json(x.helped)},
          {"feeds", feeds_to_json(x.times.feeds, done.elapsed)},
          {"remote", remote_to_json(x.remote)},
          {"packed", {{"elements", x.packed.elements}, {"padding", x.packed.padding}}},
          {"mixes", mixes_to_json(x.mixes)},
          {"bad", bad_to_json(x.bad)},
          {"resumed_at", x.resumed_at
                             ? json{{"epoch", x.resumed_at->epoch}, {"step", x.resumed_at->step}}
                             : json()},
          {"skipped_snapshots", x.skipped},
          {"workers_replaced", x.workers_replaced},
          {"bound_by", bound_to_json(bound_of(x.times))},
          {"stages", stages_to_json(x.times.stages)},
          {"ended_by", x.signal == 0 ? json() : json(name_of_signal(x.signal))},
          {"epoch", done.epoch},
          {"step", done.step},
          {"global_step", done.global_step},
          {"digest", to_string(done.digest)}};
}

double padded_share(const pack_stats& x) {
  return static_cast<double>(x.padding) / static_cast<double>(x.elements);
}

void print_summary(const summary& x, const char* unit) {
  const auto& done = x.progress;
  auto seconds = in_seconds(done.elapsed);
  auto waiting = seconds > 0 ? 100 * in_seconds(done.waited) / seconds : 0;
  print_line(with_commas(done.samples) + " " + unit + " in " + fixed(seconds, 2) + " s: "
             + with_commas(static_cast<std::uint64_t>(std::llround(samples_per_second(done)))) + " "
             + unit + "/s");
  if (done.tokens > 0)
    print_line("tokens            " + with_commas(done.tokens) + ": "
               + with_commas(std::llround(per_second(done.tokens, done))) + " tokens/s");
  if (x.signal != 0)
    print_line(std::string{"ended by          "} + name_of_signal(x.signal));
  print_line("waiting for data  " + fixed(waiting, 1) + "% of the time");
  print_line("bound by          " + bound_text(bound_of(x.times)));
  if (done.first_batch)
    print_line("first batch       " + fixed(1e3 * in_seconds(*done.first_batch), 1) + " ms");
  print_line("read              " + readable_bytes(x.bytes_read));
  if (x.remote)
    print_line("from servers      " + remote_text(*x.remote));
  if (x.device)
    print_line("device            " + device_text(*x.device));
  if (x.device && x.device->decoder)
    print_line("decoded           " + decoder_text(*x.device->decoder));
  if (x.helped)
    print_line("helpers           " + helped_text(*x.helped, done.samples));
  for (const auto& feed : x.times.feeds)
    for (auto label = std::string{"feed"}; const auto& line : feed_lines(feed, done.elapsed)) {
      label.resize(18, ' ');
      print_line(std::exchange(label, std::string(18, ' ')) + line);
    }
  if (x.packed.elements > 0)
    print_line("padding           " + fixed(100 * padded_share(x.packed), 1)
               + "% of packed elements");
  for (const auto& line : share_lines(x.mixes, 18))
    print_line(line);
  print_line("memory, peak      " + readable_bytes(resident_bytes()));
  print_line("snapshot          " + readable_bytes(x.snapshot_bytes));
  print_line("bad samples       " + bad_to_json(x.bad).dump());
  for (const auto& set : x.skipped)
    print_line("skipped snapshot  " + set);
  print_line("next batch        epoch " + std::to_string(done.epoch) + " step "
             + std::to_string(done.step));
  print_line("digest            " + to_string(done.digest));
}

void write_stats(const std::string& file, const training_job& job, std::uint64_t first_rank) {
  auto workers = json::array();
  auto stages = json::array();
  for (auto rank = first_rank; const auto& stats : job.ranks().stats()) {
    for (const auto& x : stats.workers)
      workers.push_back({{"rank", rank},
                         {"worker", x.worker},
                         {"rows_dealt", x.rows_dealt},
                         {"rows_done", x.rows_done},
                         {"busy_seconds", in_seconds(x.busy)},
                         {"bytes_read", x.bytes_read}});
    for (const auto& x : stats.stages)
      stages.push_back({{"rank", rank}, {"stage", x.name}, {"seconds", in_seconds(x.time)}});
    ++rank;
  }
  write_output(file, json{{"workers", workers}, {"stages", stages}}.dump(2) + "\n", "--stats");
}

/// Lets signals end the job, if there is one.
class job_stop {
public:
  /// Null: there is no job, or no job any more.
  void set(training_job* job) {
    const mutex_lock lock{mutex_};
    job_ = job;
  }
  void stop(int signal) {
    const mutex_lock lock{mutex_};
    const std::string name = name_of_signal(signal);
    if (!job_) { // still opening its data, or done: all that was handed over is saved
      print_notice("run", name);
      std::_Exit(exit_code_of(signal));
    }
    print_notice("run", name + ": the job ends after its batch; a second signal ends it at once");
    job_->request_stop();
  }

private:
  mutex mutex_;
  training_job* job_ LEAT_GUARDED_BY(mutex_) = nullptr;
};

/// Signals can stop a job while this lives.
class stoppable : not_copied {
public:
  stoppable(job_stop& stop, training_job& job) : stop_(stop) { stop_.set(&job); }
  ~stoppable() { stop_.set(nullptr); }

private:
  job_stop& stop_;
};

/// Returns the exit code.
int run(const run_options& x) {
  job_stop stop;
  // Before any thread of the job exists: all inherit the signal mask.
  const stop_signals signals{[&](int signal) { stop.stop(signal); }};
  auto settings = settings_of(x, usable_cores());
  check_snapshot_dir(x);
  // Before the job runs: hours of training should not end with "no such directory".
  if (!x.stats.empty())
    check_output(x.stats, "--stats");
  if (!x.trace.empty()) {
    check_output(x.trace, "--trace");
    settings.loader.trace = std::make_shared<trace>(x.trace);
  }
  const auto data = job_pipeline(x.order, x.maps);
  check_length(x, data);
  const auto* unit = makes_images(data) ? "images" : "samples";
  training_job job{data, settings};
  tell_of_resume(x, job);
  const auto at_start = job.ranks().stats();
  const fetched_before before{remote_of(at_start), feeds_of(at_start)};
  {
    const stoppable stops{stop, job};
    progress_display display{unit, [&] { return more_progress(job, before.asked); }};
    job.run([&](const training_progress& now) { display.update(now); });
  }
  if (!x.stats.empty())
    write_stats(x.stats, job, settings.loader.rank);
  const auto sums = sum_up(job, before, signals.caught());
  if (x.json)
    print_line(to_json(sums).dump());
  else
    print_summary(sums, unit);
  return sums.signal == 0 ? 0 : exit_code_of(sums.signal);
}

} // namespace

void add_run(CLI::App& app, int& status) {
  auto* sub = app.add_subcommand("run", "Run a training job that only reads, and show how fast");
  auto x = std::make_shared<run_options>();
  add_run_options(*sub, *x);
  sub->callback([x, &status] { status = run(*x); });
}

} // namespace leat::command
