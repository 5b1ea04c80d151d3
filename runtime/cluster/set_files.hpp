#pragma once

#include "runtime/cluster/set_collection.hpp"
#include "runtime/snapshot/job_file_writer.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace leat {

/// What became of a set.
struct set_answer {
  job_position at;
  /// Empty: it is stored.
  std::string why_not;
};

struct set_files_config {
  /// Complete sets that stay.
  std::uint64_t keep = 3;
  /// Called before a set becomes visible: true if no other coordinator has begun meanwhile. May
  /// throw.
  std::function<bool()> is_newest = {};
};

/// Carries out a coordinator's commands on files of sets. It blocks, so it needs a thread of its
/// own.
class set_files {
public:
  explicit set_files(set_files_config config) : config_(std::move(config)) {}

  /// An answer comes with `finish`, and with the first command of a set that fails: the others of
  /// that set then do nothing.
  std::optional<set_answer> run(const set_command& x);

private:
  void finish();

  set_files_config config_;
  /// The file of the set in progress; none after a failure.
  std::optional<job_file_writer> file_;
};

/// The place of the newest set in a directory that a job can begin with, however it was saved; none
/// if there is no directory. Skips torn sets, with a notice. Throws `errc::io`.
std::optional<job_position> newest_set_in(const std::string& directory);

} // namespace leat
