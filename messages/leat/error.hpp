#pragma once

#include <leat/export.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace leat {

/// Every way in which a public function of leat fails.
enum class errc : std::uint8_t {
  /// A pipeline, option or argument is out of range; the text names field, value and range.
  invalid_argument = 1,
  /// A file, directory, field or snapshot does not exist.
  not_found,
  /// The operating system refused a read or write, even after retries if those can help.
  io,
  /// A stored file is cut short or damaged: tar, index, raw records.
  torn_file,
  /// A snapshot cannot be read, is incomplete, or has an unknown version.
  bad_snapshot,
  /// A snapshot was taken of something else; the text lists all that differs.
  mismatch,
  /// A sample is bad and the policy is `fail`, or no substitute for it was found.
  bad_sample,
  /// A batch field was asked for under a wrong name, type or rank.
  wrong_field,
  /// All batch slots are leased to the caller, so no further batch can ever come.
  leases_exhausted,
  /// Two workers died while they made the same row, or a process for functions did not start.
  worker_lost,
  /// A user function has not returned within `stuck_after`.
  stuck,
  /// The epoch has no batch: fewer samples than the end rule needs.
  empty_epoch,
  /// The machine has no more of something: threads, memory, descriptors. Never a sample's fault.
  no_resources,
  /// `loader::interrupt` was called.
  interrupted,
  /// The loader's runtime was shut down, which ended its threads.
  shut_down,
  /// A call in the child of a fork, at a time when leat had threads or loaders: these exist only in
  /// the parent.
  forked,
  /// The ranks of a cluster start again, at a stored set or at the job's beginning, and there may
  /// be more or fewer of them. The loader is at that place (`loader::position`), and its next call
  /// of next() continues from there: load the weights of that step first.
  regrouped,
  /// The cluster refuses this process or has failed in another one, or its coordinator cannot be
  /// reached.
  cluster,
  /// A device (a GPU) is not there, its driver is missing or too old, or refuses a call.
  device,
};

LEAT_API std::string_view to_string(errc code) noexcept;

/// What is known about a failure. Empty fields are left out of the text, which is always one line:
/// control characters become `\xHH`.
struct error_details {
  /// Pipeline stage or part of leat: "train_image@1", "tar_shards", "snapshot".
  std::string stage = {};
  /// Id of the sample.
  std::string sample = {};
  std::string file = {};
  /// Bytes from the start of `file`.
  std::optional<std::uint64_t> offset = {};
  std::string got = {};
  std::string needed = {};
  /// If there are several causes or differences, all of them: one line each, after the text.
  std::vector<std::string> list = {};
};

/// The one exception type that leat throws.
class LEAT_API error : public std::runtime_error {
public:
  error(errc code, error_details details);

  errc code() const noexcept { return code_; }
  const error_details& details() const noexcept { return details_; }

private:
  errc code_;
  error_details details_;
};

} // namespace leat
