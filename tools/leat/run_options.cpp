#include "tools/leat/run_options.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/storage/output_place.hpp"

#include <leat/pipeline_facts.hpp>

#include "tools/leat/option_values.hpp"
#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace leat::command {

namespace {

/// Larger times and counts are taken for typing errors.
constexpr std::uint64_t max_ms = 86'400'000;
constexpr std::uint64_t max_ranks = 1'000'000;
/// Each rank has its own actors and threads.
constexpr std::uint64_t max_ranks_here = 1024;
constexpr std::uint64_t max_workers = 4096;
constexpr std::uint64_t default_snapshot_every = 100;
constexpr std::uint64_t default_keep = 3;

void add_workers(CLI::App& app, std::size_t& to) {
  const auto set = [&to](const std::string& text) {
    const auto number = parse_number(text);
    if (text != "auto" && (!number || *number > max_workers))
      throw CLI::ValidationError("--workers", "got \"" + text
                                                  + "\", needed auto, or a whole number of 0 .. "
                                                  + std::to_string(max_workers));
    to = number.value_or(automatic);
  };
  app.add_option_function<std::string>("--workers", set,
                                       "Worker threads per rank; 0: none, everything in the "
                                       "trainer's thread; auto: as many as the "
                                       "trainer needs, within the cores of this process")
      ->type_name("auto|N")
      ->default_str("auto");
}

void add_job(CLI::App& app, run_options& to) {
  whole_number(app.add_option("--epochs", to.epochs,
                              "Epochs to run; not for an endless epoch (--end cycle)"),
               1, max_epochs)
      ->default_str("1");
  whole_number(app.add_option("--steps", to.steps,
                              "End after this many steps of the job, counted from epoch 0"),
               1)
      ->default_str("");
  whole_number(app.add_option("--world-size", to.world_size, "Ranks of the job"), 1, max_ranks);
  whole_number(app.add_option("--rank", to.rank,
                              "Run only this rank; without it, all of them in this process"),
               0);
  add_workers(app, to.workers);
  app.add_option("--workers-at", to.workers_at,
                 "Let helpers make rows for this rank (leat worker --join) that connect here; port "
                 "0: the system chooses one [LEAT_WORKERS_AT]")
      ->type_name("HOST:PORT");
  add_lend_option(app, to.lend);
  app.add_option("--feeds-at", to.feeds_at,
                 "Where the pipeline's feeds connect (leat feed --join); port 0: the system "
                 "chooses one. In a cluster, otherwise, a place that feeds find by the coordinator")
      ->type_name("HOST:PORT");
  add_device_options(app, to.device, to.decoder);
  app.add_option("--device-field", to.device_fields, "Only this field goes there")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->default_str("");
  app.add_option("--resize", to.resizes, "From this step of the job on, each rank has N workers")
      ->type_name("STEP:N")
      ->allow_extra_args(false)
      ->default_str("");
  app.add_option(
         "--leave-out", to.left_out,
         "Do not hand over these steps of the job (A..B, both included); snapshots record it")
      ->type_name("A..B")
      ->allow_extra_args(false)
      ->default_str("");
  add_weights_option(app, to.weights);
  add_dispatch_option(app, to.dispatch);
  add_transform_option(app, to.maps);
  whole_number(app.add_option("--stuck-after", to.stuck_after_ms,
                              "End the job if a function or a read takes longer [ms]; 0: never"),
               0, max_ms);
}

void add_snapshots(CLI::App& app, run_options& to) {
  app.add_option("--snapshot-dir", to.snapshot_dir, "Save snapshots here")->type_name("DIR");
  whole_number(
      app.add_option("--snapshot-every", to.snapshot_every, "Save after every K steps of the job"),
      1)
      ->default_str("100");
  whole_number(app.add_option("--keep", to.keep, "Complete snapshot sets to keep"), 1)
      ->default_str("3");
  app.add_flag("--resume", to.resume, "Resume after the newest complete snapshot");
  app.add_option("--allow", to.allow, "Resume although this differs; the refusal lists the names")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->default_str("");
  app.add_flag("--allow-older", to.allow_older, "Take an older set if the newest has a torn file");
}

void add_cluster(CLI::App& app, run_options& to) {
  app.add_option("--cluster", to.cluster,
                 "Coordinator of a job of several processes, of which this is one rank: --rank and "
                 "--world-size, or a launcher's variables. It resumes by itself")
      ->type_name("HOST:PORT");
  app.add_option("--state", to.state_dir,
                 "Rank 0 runs the coordinator, which keeps its state here [LEAT_CLUSTER_STATE]")
      ->type_name("DIR");
  app.add_option("--certs", to.certificates,
                 "Certificate and key of this rank (leat certs issue) [LEAT_CLUSTER_CERTS]")
      ->type_name("DIR");
  app.add_option_function<std::string>(
         "--on-rank-loss",
         [&to](const std::string& text) {
           if (text != "back" && text != "alone")
             throw CLI::ValidationError("--on-rank-loss",
                                        "got \"" + text + "\", needed back|alone");
           to.comes_back_alone = text == "alone";
         },
         "All go back to the newest snapshot, or the lost rank comes back alone")
      ->type_name("back|alone")
      ->default_str("back");
  whole_number(app.add_option("--run-ahead", to.run_ahead,
                              "Batches that a rank may be ahead of the last one (alone)"),
               1)
      ->default_str("1000");
  app.add_option("--elastic", to.elastic,
                 "The coordinator numbers the ranks, and goes on with any number of MIN to MAX")
      ->type_name("MIN:MAX");
  whole_number(app.add_option("--beat", to.beat_ms,
                              "Time between two signs of life [ms]; a rank is lost after 10"),
               10, 60'000);
  whole_number(app.add_option("--join-within", to.join_within_s,
                              "End if not all ranks have come after this time [s]"),
               1, max_ms / 1000);
}

void add_reports(CLI::App& app, run_options& to) {
  app.add_option("--log", to.log, "Append a JSON line for every batch")->type_name("FILE");
  add_bad_sample_option(app, to.bad_samples);
  app.add_option("--bad-log", to.bad_log, "List bad samples here [the log's name and \".bad\"]")
      ->type_name("FILE");
  app.add_option("--stats", to.stats, "Write what each worker did, as JSON")->type_name("FILE");
  app.add_option("--trace", to.trace,
                 "Write a timeline that ui.perfetto.dev and chrome://tracing open, up to 64 MiB")
      ->type_name("FILE");
  app.add_flag("--json", to.json, "Print the summary as a JSON object");
}

void add_drills(CLI::App& app, run_options& to) {
  whole_number(app.add_option("--step-time", to.step_time_ms,
                              "Time that the trainer takes for each step [ms]"),
               0, max_ms);
  app.add_option("--fault", to.faults,
                 "Stage a failure: slow:WORKER,MS, throw:POSITION, die:WORKER,POSITION")
      ->type_name("FAULT")
      ->allow_extra_args(false)
      ->default_str("");
}

/// An option without effect is a mistake, which should not be noticed only when the job is to be
/// resumed.
void check_snapshots(const run_options& x) {
  const bool saves = !x.snapshot_dir.empty();
  if (x.resume && !saves)
    refuse_argument("--resume", "no --snapshot-dir", "the directory to resume from");
  if (x.snapshot_every && !saves)
    refuse_argument("--snapshot-every", "no --snapshot-dir", "the directory to save in");
  if (x.keep && !saves)
    refuse_argument("--keep", "no --snapshot-dir", "the directory to keep them in");
  if (!x.allow.empty() && !x.resume)
    refuse_argument("--allow", "no --resume",
                    "--resume: only a resumed job can differ from its snapshot");
  if (x.allow_older && !x.resume)
    refuse_argument("--allow-older", "no --resume",
                    "--resume: only a resumed job takes a snapshot set");
}

std::string helpers_at(const run_options& x) {
  const char* by_environment = std::getenv("LEAT_WORKERS_AT"); // NOLINT(concurrency-mt-unsafe)
  return x.workers_at.empty() && by_environment ? by_environment : x.workers_at;
}

void check_cluster(const run_options& x) {
  const auto needs = [&](const char* option, bool is_set) {
    if (is_set && x.cluster.empty())
      refuse_argument(option, "no --cluster", "the coordinator's address");
  };
  needs("--state", !x.state_dir.empty());
  needs("--certs", !x.certificates.empty() && helpers_at(x).empty() && x.feeds_at.empty());
  needs("--on-rank-loss", x.comes_back_alone);
  needs("--elastic", !x.elastic.empty());
  if (x.cluster.empty())
    return;
  if (x.run_ahead && !x.comes_back_alone)
    refuse_argument("--run-ahead", "no --on-rank-loss alone", "it");
  if (!x.elastic.empty() && (x.rank || x.world_size != 1))
    refuse_argument("--elastic", "a rank or a world size", "neither: the coordinator gives them");
  if (!x.elastic.empty() && x.comes_back_alone)
    refuse_argument("--elastic", "--on-rank-loss alone",
                    "back: ranks have no numbers to come back to");
  if (x.order.epoch != 0)
    refuse_argument("--epoch", "--cluster", "an epoch of 0");
}

void check(const run_options& x) {
  check_cluster(x);
  if (x.rank && *x.rank >= x.world_size)
    refuse_argument("--rank", std::to_string(*x.rank),
                    "below the world size of " + std::to_string(x.world_size));
  check_snapshots(x);
  if (x.cluster.empty() && !x.rank && x.world_size > max_ranks_here)
    refuse_argument("--world-size", std::to_string(x.world_size) + " ranks in one process",
                    "at most " + std::to_string(max_ranks_here)
                        + " there; --rank R runs one of them alone");
  if (x.workers == 0 && !x.resizes.empty())
    refuse_argument("--resize", "--workers 0", "at least one worker");
}

/// The default is a file next to the log, if that is a file.
std::string bad_log_of(const run_options& x) {
  if (!x.bad_log.empty() || x.log.empty() || !place_of_output(x.log, "--log").is_file)
    return x.bad_log;
  return x.log + ".bad";
}

/// Called in another thread than the one that hangs: the job cannot be ended in order.
[[noreturn]] void end_stuck(const error& problem) {
  std::fprintf(stderr, "leat run: %s\n", problem.what());
  std::_Exit(EXIT_FAILURE);
}

/// A fault of a worker that never exists would have no effect.
void check_fault_workers(const training_settings& x) {
  auto workers = x.loader.workers;
  for (const auto& resize : x.resizes)
    workers = std::max(workers, resize.workers);
  const auto check = [&](std::size_t worker) {
    if (worker >= workers && !(worker == 0 && x.loader.workers == 0))
      refuse_argument("--fault", "worker " + std::to_string(worker),
                      workers == 0
                          ? "worker 0, the trainer's thread"
                          : "0 .. " + std::to_string(workers - 1) + ", the workers of a rank");
  };
  if (!x.loader.fault)
    return;
  for (const auto& slow : x.loader.fault->slow)
    check(slow.worker);
  for (const auto& death : x.loader.fault->deaths)
    check(death.worker);
}

/// Options override the environment.
cluster cluster_of(const run_options& x) {
  const bool asks_launcher = x.elastic.empty() && !x.rank && x.world_size == 1;
  auto to = asks_launcher ? cluster::from_env() : cluster::from_leat_env();
  if (!asks_launcher) {
    to.rank = x.rank;
    to.world_size = x.world_size;
  }
  to.address = x.cluster;
  if (!x.state_dir.empty())
    to.state_directory = x.state_dir;
  if (!x.certificates.empty())
    to.certificates = x.certificates;
  to.on_rank_loss = x.comes_back_alone ? rank_loss::alone : rank_loss::back;
  to.run_ahead = x.run_ahead.value_or(to.run_ahead);
  to.beat = std::chrono::milliseconds{x.beat_ms};
  to.join_within = std::chrono::seconds{x.join_within_s};
  if (!x.elastic.empty()) {
    const auto parts = split(x.elastic, ':');
    const auto least = parse_number(parts.front());
    const auto most = parse_number(parts.back());
    if (parts.size() != 2 || !least || !most || *least == 0 || *least > *most || *most > max_ranks)
      refuse_argument("--elastic", "\"" + x.elastic + "\"", "MIN:MAX, two numbers of ranks");
    to.rank.reset();
    to.world_size.reset();
    to.least_ranks = *least;
    to.most_ranks = *most;
  }
  return to;
}

void add_helpers(const run_options& x, loader_options& to) {
  to.workers_at = helpers_at(x);
  to.feeds_at = x.feeds_at;
  if (to.workers_at.empty() && to.feeds_at.empty())
    return;
  const bool are_alone_together = !x.rank && x.world_size > 1 && x.cluster.empty();
  if (are_alone_together && !to.workers_at.empty() && !to.workers_at.ends_with(":0"))
    refuse_argument("--workers-at",
                    "one port for " + std::to_string(x.world_size) + " ranks in one process",
                    "port 0, or --rank R, which runs one of them alone");
  if (are_alone_together && !to.feeds_at.empty())
    refuse_argument("--feeds-at", std::to_string(x.world_size) + " ranks in one process",
                    "--rank R, which runs one of them alone, or one rank");
  const auto by_environment = cluster::from_leat_env();
  to.helpers = helper_access{.certificates = x.certificates.empty() ? by_environment.certificates
                                                                    : x.certificates,
                             .token = by_environment.token,
                             .insecure = by_environment.insecure,
                             .lend = x.lend};
}

loader_options loader_of(const run_options& x, std::size_t cores) {
  loader_options result{.rank = x.rank.value_or(0), .world_size = x.world_size};
  result.epochs = x.order.epoch + x.epochs.value_or(1);
  result.steps = x.steps;
  result.dispatch = x.dispatch;
  result.bad_samples = x.bad_samples;
  result.bad_sample_log = bad_log_of(x);
  result.stuck_after = std::chrono::milliseconds{x.stuck_after_ms};
  result.on_stuck = end_stuck;
  result.device = x.device;
  result.device_fields = x.device_fields;
  result.decoder = x.decoder;
  result.keep = x.keep.value_or(default_keep);
  add_helpers(x, result);
  if (!x.cluster.empty())
    result.cluster = cluster_of(x);
  result.hash_pixels = !x.log.empty();
  fault_drill fault;
  for (const auto& text : x.faults)
    parse_fault(text, fault);
  result.workers = x.workers;
  // A worker that a fault names must exist.
  const bool names_worker = !fault.slow.empty() || !fault.deaths.empty();
  if (x.workers == automatic && names_worker)
    result.workers = std::max<std::size_t>(1, cores / (x.rank ? 1 : x.world_size));
  if (!x.faults.empty())
    result.fault = drill(std::move(fault));
  return result;
}

} // namespace

void add_run_options(CLI::App& app, run_options& to) {
  add_order_options(app, to.order);
  app.option_defaults()->always_capture_default();
  add_job(app, to);
  add_snapshots(app, to);
  add_cluster(app, to);
  add_reports(app, to);
  add_drills(app, to);
}

training_settings::resize parse_resize(const std::string& text) {
  auto parts = split(text, ':');
  auto step = parse_number(parts.front());
  auto workers = parse_number(parts.back());
  if (parts.size() != 2 || !step || !workers || *workers == 0 || *workers > max_workers)
    refuse_argument("--resize", "\"" + text + "\"",
                    "STEP:N, N of 1 .. " + std::to_string(max_workers));
  return {*step, *workers};
}

step_range parse_steps(const std::string& text) {
  const auto dots = std::min(text.find(".."), text.size());
  const auto first = parse_number(text.substr(0, dots));
  const auto last = parse_number(text.substr(std::min(dots + 2, text.size())));
  if (!first || !last || *first > *last)
    refuse_argument("--leave-out", "\"" + text + "\"", "A..B, two steps of the job, A not above B");
  return {*first, *last};
}

void parse_fault(const std::string& text, fault_drill& to) {
  auto refuse = [&] {
    refuse_argument("--fault", "\"" + text + "\"",
                    "slow:WORKER,MS, throw:POSITION or die:WORKER,POSITION");
  };
  auto colon = std::min(text.find(':'), text.size());
  auto kind = text.substr(0, colon);
  std::vector<std::uint64_t> numbers;
  for (const auto& part :
       split(std::string_view{text}.substr(std::min(colon + 1, text.size())), ','))
    if (auto number = parse_number(part))
      numbers.push_back(*number);
    else
      refuse();
  if (kind == "throw" && numbers.size() == 1)
    to.throw_at.push_back(numbers[0]);
  else if (kind == "slow" && numbers.size() == 2 && numbers[1] <= max_ms)
    to.slow.push_back({numbers[0], std::chrono::milliseconds{numbers[1]}});
  else if (kind == "die" && numbers.size() == 2)
    to.deaths.push_back({numbers[0], numbers[1]});
  else
    refuse();
}

training_settings settings_of(const run_options& x, std::size_t cores) {
  check(x);
  training_settings result;
  result.loader = loader_of(x, cores);
  result.ranks = x.rank || result.loader.cluster ? 1 : x.world_size;
  result.first_epoch = x.order.epoch;
  result.snapshot_dir = x.snapshot_dir;
  result.snapshot_every = x.snapshot_every.value_or(default_snapshot_every);
  result.resume = x.resume;
  result.restore = {x.allow, x.allow_older};
  result.log = x.log;
  for (const auto& text : x.resizes)
    result.resizes.push_back(parse_resize(text));
  for (const auto& text : x.left_out)
    result.left_out.push_back(parse_steps(text));
  result.weights = weight_changes_of(x.weights);
  std::stable_sort(result.resizes.begin(), result.resizes.end(),
                   [](const auto& a, const auto& b) { return a.step < b.step; });
  result.step_time = std::chrono::milliseconds{x.step_time_ms};
  check_fault_workers(result);
  return result;
}

void check_length(const run_options& x, const pipeline& job) {
  if (end_of(job) != epoch_end::cycle)
    return;
  if (x.epochs)
    refuse_argument("--epochs", std::to_string(*x.epochs) + ", and a pipeline of one endless epoch",
                    "--steps");
  if (x.steps == UINT64_MAX)
    refuse_argument("--steps", "none, and a pipeline of one endless epoch",
                    "the number of steps after which the job ends");
}

bool belongs_to_other_rank(std::string_view entry, const run_options& x) {
  auto suffix = ".rank-" + std::to_string(x.rank.value_or(0)) + "-of-";
  auto world = "-of-" + std::to_string(x.world_size);
  auto at = entry.find(world);
  bool same_world = at != std::string_view::npos
                    && (entry.size() == at + world.size() || entry[at + world.size()] == '.');
  return x.rank && same_world && entry.find(suffix) == std::string_view::npos;
}

} // namespace leat::command
