#pragma once

#include <leat/bad_sample.hpp>
#include <leat/loader.hpp>
#include <leat/pipeline.hpp>

#include "tools/leat/data_arguments.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace leat::command {

/// What determines the order of a job: shared by all subcommands that read data.
struct order_options {
  data_arguments data;
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  /// G: rows of a global batch.
  std::uint64_t global_batch = 64;
  /// L: number of lanes; 0: the library's default.
  std::uint64_t lanes = 0;
  /// Empty: full, or none for data that is read in sequence.
  std::optional<shuffle_kind> shuffle = {};
  /// How many files are shuffled with each other; only for windowed. Empty: 4.
  std::optional<std::uint64_t> window = {};
  /// Empty: that of the pipeline.
  std::optional<epoch_end> end = {};
  /// Journal of sources that exist once; empty: none.
  std::string journal = {};
  /// A file with a pipeline in text form (docs/pipelines.md), in place of the data and all of the
  /// above except the epoch.
  std::string pipeline_file = {};
};

/// Adds DATA... and the options above.
void add_order_options(CLI::App& app, order_options& to);

/// What is done with the records.
enum class transform {
  /// No maps; the batch has all fields of the records.
  none,
  /// "image" (float32 [3, 224, 224], ImageNet mean and deviation) with a random crop, and "label".
  train224,
  /// Like train224, but with the centre crop of evaluation.
  eval224,
};

/// Adds --transform; the value stays empty unless the user gives it.
void add_transform_option(CLI::App& app, std::optional<transform>& to);

/// Adds --device and --decoder.
void add_device_options(CLI::App& app, std::string& device, std::string& decoder);

/// Adds --lend.
void add_lend_option(CLI::App& app, std::string& lend);

/// How images arrive in the batch.
enum class pixel_form {
  /// Images as the trainer gets them.
  trainer,
  /// uint8 [224, 224, 3] with the same crop, for viewing.
  viewable,
};

/// The pipeline of a job: that of the file, or else data, order, maps and batch. If the user chose
/// no transform, it is train224 for records that are images, else none: this opens the data.
/// Throws `errc::invalid_argument` if the options contradict each other.
pipeline job_pipeline(const order_options& x, std::optional<transform> chosen,
                      pixel_form form = pixel_form::trainer);

/// True if a map of the pipeline makes images.
bool makes_images(const pipeline& job);

/// The job with the maps of train224 and eval224 replaced by plain C++ (plain_image.hpp); nothing
/// if it has neither.
std::optional<pipeline> plain_job(const pipeline& job);

/// Adds --weights, which may be given several times.
void add_weights_option(CLI::App& app, std::vector<std::string>& to);

/// Changes of the weights of the job's mix, from "STEP:W1,W2,...". Throws
/// `errc::invalid_argument`.
std::vector<weight_change> weight_changes_of(const std::vector<std::string>& texts);

/// Adds --bad-sample.
void add_bad_sample_option(CLI::App& app, bad_sample_policy& to);

/// Adds --dispatch.
void add_dispatch_option(CLI::App& app, dispatch_policy& to);

} // namespace leat::command
