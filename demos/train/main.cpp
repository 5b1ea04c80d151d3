// leat-train: trains a small classifier on JPEGs in tar shards, and survives SIGKILL.
//   leat-train 'data/train-*.tar' --epochs 3 --workers 2 --checkpoint job.ckpt --log job.log
//   kill -9 it, then run the same with --resume, and any other --workers and --world-size
// All ranks run in this one process in lock step, as data-parallel training would, each with a
// loader of its own. The weights do not depend on workers, ranks or kills.

#include "demos/train/checkpoint.hpp"
#include "demos/train/global_batch.hpp"
#include "demos/train/model.hpp"
#include "demos/train/training_data.hpp"

#include <leat/leat.hpp>

#include "tools/leat/option_values.hpp"
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace leat::train {

namespace {

struct train_options {
  data_options data;
  std::uint64_t epochs = 1;
  /// Steps of the whole job; 0: as many as the epochs have.
  std::uint64_t steps = 0;
  std::uint64_t world_size = 1;
  /// Worker threads of each rank.
  std::size_t workers = 1;
  std::string checkpoint;
  /// Number of steps between checkpoints.
  std::uint64_t checkpoint_every = 10;
  bool resume = false;
  std::string log;
  std::string picture;
};

class trainer {
public:
  explicit trainer(const train_options& options)
      : options_(options), data_(training_data(options.data)),
        model_({.features = num_features,
                .classes = options.data.classes,
                .seed = options.data.seed}) {
    for (std::uint64_t rank = 0; rank < options.world_size; ++rank)
      ranks_.emplace_back(data_, loader_options{.rank = rank,
                                                .world_size = options.world_size,
                                                .workers = options.workers,
                                                .epochs = options.epochs,
                                                .hash_pixels = !options.log.empty()});
    const auto all_steps = options.epochs * ranks_.front().batches_per_epoch().value();
    last_step_ = options.steps == 0 ? all_steps : std::min(options.steps, all_steps);
  }

  void run() {
    if (options_.resume && std::filesystem::exists(options_.checkpoint))
      resume();
    open_log();
    while (step_ < last_step_)
      step();
    std::printf("digest %s of %" PRIu64 " steps\n", to_string(digest_).c_str(), step_);
    std::printf("weights %016" PRIx64 "\n", model_.fingerprint());
  }

private:
  void step() {
    const auto batches = next_batches();
    append_to_log(batches);
    const auto result = model_.learn(gather(batches));
    digest_ += digest_of(batches);
    step_ = batches.front()->global_step() + 1;
    report(*batches.front(), result, digest_of(batches));
    if (step_ % options_.checkpoint_every == 0 || step_ == last_step_)
      save(batches);
    if (step_ == last_step_ && !options_.picture.empty())
      write_picture(options_.picture, batches);
  }

  rank_batches next_batches() {
    rank_batches batches;
    for (auto& rank : ranks_)
      batches.push_back(rank.next());
    return batches;
  }

  /// The model after this step and the position of the data after it, together.
  void save(const rank_batches& batches) const {
    if (options_.checkpoint.empty())
      return;
    checkpoint x{.model = model_.save(), .data = {}};
    for (const auto& rank : batches)
      x.data.push_back(rank->snapshot());
    write_checkpoint(options_.checkpoint, x);
  }

  /// Each new rank takes the parts of all old ranks, however many there were.
  void resume() {
    const auto saved = read_checkpoint(options_.checkpoint);
    model_.load(saved.model);
    for (auto& rank : ranks_) {
      resumed_at_ = rank.restore_parts(saved.data);
      digest_ += resumed_at_->digest; // rank 0 has the sum, the others zero
    }
    step_ = resumed_at_->global_step;
    std::printf("resumed at epoch %" PRIu64 " step %" PRIu64 "\n", resumed_at_->epoch,
                resumed_at_->step);
  }

  void open_log() {
    if (!options_.log.empty())
      log_.emplace(options_.log, ranks_.front(),
                   run_log_options{.program = "leat-train", .all_ranks = true});
  }

  /// Called before the model learns: a log that lacks a batch the model has seen would prove
  /// nothing.
  void append_to_log(const rank_batches& batches) {
    if (log_)
      for (const auto& rank : batches)
        log_->append(*rank);
  }

  static void report(const batch& x, const step_result& result, const hash128& digest) {
    std::printf("epoch %" PRIu64 " step %" PRIu64 " loss %.4f accuracy %.3f digest %s\n", x.epoch(),
                x.step(), result.loss, result.accuracy, to_string(digest).c_str());
    std::fflush(stdout);
  }

  train_options options_;
  pipeline data_;
  model model_;
  std::vector<loader> ranks_;
  std::optional<run_log> log_;
  std::optional<resume_point> resumed_at_;
  /// Steps done since the job began, and the step after which to stop.
  std::uint64_t step_ = 0;
  std::uint64_t last_step_ = 0;
  /// Digest of all steps since the job began.
  hash128 digest_;
};

void add_options(CLI::App& app, train_options& to) {
  using command::whole_number;
  app.add_option("DATA", to.data.shards, "Tar shards: a path, braces or a glob")->required();
  whole_number(app.add_option("--epochs", to.epochs, "Passes over the data"), 1);
  whole_number(app.add_option("--steps", to.steps, "Stop after this step of the job; 0: never"), 0);
  whole_number(app.add_option("--global-batch", to.data.global_batch, "Rows of a step, all ranks"),
               1);
  whole_number(app.add_option("--classes", to.data.classes, "Labels are 0 .. N-1"), 2, 1'000'000);
  whole_number(
      app.add_option("--seed", to.data.seed, "Seed of the order, the crops and the first weights"),
      0);
  whole_number(app.add_option("--world-size", to.world_size, "Ranks"), 1);
  whole_number(app.add_option("--workers", to.workers, "Worker threads of each rank"), 0);
  auto* file = app.add_option("--checkpoint", to.checkpoint, "File to save to and to resume from");
  whole_number(app.add_option("--checkpoint-every", to.checkpoint_every,
                              "Steps of the job between two checkpoints"),
               1);
  app.add_flag("--resume", to.resume, "Resume from the checkpoint, if there is one")->needs(file);
  app.add_option("--log", to.log, "Append a line for every batch, for leat verify");
  app.add_option("--picture", to.picture, "Write the images of the last step as PNG");
}

} // namespace

} // namespace leat::train

int main(int argc, char** argv) {
  CLI::App app{"Trains a small classifier on JPEGs in tar shards (fields jpg and cls)",
               "leat-train"};
  app.option_defaults()->always_capture_default();
  leat::train::train_options options;
  leat::train::add_options(app, options);
  try {
    app.parse(argc, argv);
    leat::train::trainer(options).run();
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  } catch (const std::exception& e) {
    std::cerr << "leat-train: " << e.what() << '\n';
    return 1;
  }
}
