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

/// What fixes the order of a job: shared by all subcommands that read data.
struct order_options {
  data_arguments data;
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  /// Rows of a global batch G.
  std::uint64_t global_batch = 64;
  /// L; 0: the library's default.
  std::uint64_t lanes = 0;
  /// Empty: full, and none of data that is read in sequence.
  std::optional<shuffle_kind> shuffle = {};
  /// Files that are shuffled with each other; only for windowed. Empty: 4.
  std::optional<std::uint64_t> window = {};
  /// Empty: as the pipeline says.
  std::optional<epoch_end> end = {};
  /// Journal of sources that exist once; empty: none.
  std::string journal = {};
  /// A file with a pipeline in text form (docs/pipelines.md), in place of data and all of the above
  /// but the epoch.
  std::string pipeline_file = {};
};

/// Adds DATA... and the options above.
void add_order_options(CLI::App& app, order_options& to);

/// What becomes of the records.
enum class transform {
  /// No maps; the batch has all fields of the records.
  none,
  /// "image" (float32 [3, 224, 224], ImageNet mean and deviation) with a random crop, and "label".
  train224,
  /// Like train224, but with the centre crop of evaluation.
  eval224,
};

/// Adds --transform to a value that stays empty where the user says nothing.
void add_transform_option(CLI::App& app, std::optional<transform>& to);

/// How images arrive in the batch.
enum class pixel_form {
  /// Images as the trainer gets them.
  trainer,
  /// uint8 [224, 224, 3] with the same crop: to be looked at.
  viewable,
};

/// The pipeline of a job: that of the file, or data, order, maps, batch. Where the user chose no
/// transform it is train224 for records that are images, else none: this opens the data.
/// Throws `errc::invalid_argument` where the options do not fit each other.
pipeline job_pipeline(const order_options& x, std::optional<transform> chosen,
                      pixel_form form = pixel_form::trainer);

/// True where a map of the pipeline makes images.
bool makes_images(const pipeline& job);

/// The job with the maps of train224 and eval224 done as plain C++ would (plain_image.hpp); empty
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
