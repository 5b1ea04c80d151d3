#pragma once

#include "runtime/storage/file_descriptor.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace leat {

/// The descriptor of this process that a path names, through symbolic links: /dev/stdin, /dev/fd/N,
/// /proc/self/fd/N. Nothing for any other path.
std::optional<int> own_descriptor(const std::filesystem::path& file);

/// Where an output that the user names goes, with symbolic links resolved.
struct output_place {
  std::filesystem::path file;
  /// A plain file, or nothing yet: it can be replaced as a whole. Anything else (a device, a FIFO,
  /// a descriptor of this process such as /dev/stdout) is written to.
  bool is_file = true;
  /// The descriptor of this process, for names such as /dev/stdout, /dev/fd/N, /proc/self/fd/N.
  std::optional<int> descriptor = {};
};

/// `option` is named in errors. Throws `errc::invalid_argument` for a directory, else `errc::io`.
output_place place_of_output(const std::filesystem::path& file, const std::string& option);

/// Throws if the output could not be written later: `errc::io`, and as `place_of_output`. Writes
/// nothing.
void check_output(const std::filesystem::path& file, const std::string& option);

/// Opens the place with these flags of open(2), which decide whether a file is created. A
/// descriptor of this process is duplicated and shares its offset. Throws `errc::io`.
file_descriptor open_output(const output_place& x, int flags, const std::string& option);

} // namespace leat
