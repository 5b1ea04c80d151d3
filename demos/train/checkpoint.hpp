#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace leat::train {

/// Everything from which a killed training resumes, in one file, so that the model's weights and
/// the position in the data can never come from two different steps.
struct checkpoint {
  /// model::save().
  std::string model;
  /// batch::snapshot() of every rank at one step.
  std::vector<std::string> data;
};

/// Replaces `file` in one step: a kill at any moment leaves the old checkpoint or the new one.
/// Throws `leat::error` (io).
void write_checkpoint(const std::filesystem::path& file, const checkpoint& x);

/// Throws `leat::error` (not_found, torn_file).
checkpoint read_checkpoint(const std::filesystem::path& file);

} // namespace leat::train
