#pragma once

#include "runtime/storage/file_descriptor.hpp"

#include <filesystem>
#include <optional>
#include <string>

namespace leat {

/// The descriptor of this process that a path is a name for, through symbolic links: /dev/stdin,
/// /dev/fd/N, /proc/self/fd/N. Nothing for any other path.
std::optional<int> own_descriptor(const std::filesystem::path& file);

/// Where an output goes that a user names, through symbolic links.
struct output_place {
  std::filesystem::path file;
  /// A plain file, or none yet: it can be replaced as a whole. Anything else (a device, a FIFO, a
  /// descriptor of this process as /dev/stdout) is written to.
  bool is_file = true;
  /// Names for descriptors of this process: /dev/stdout, /dev/fd/N, /proc/self/fd/N.
  std::optional<int> descriptor = {};
};

/// `option` stands in errors. Throws `errc::invalid_argument` for a directory, else `errc::io`.
output_place place_of_output(const std::filesystem::path& file, const std::string& option);

/// Throws where the output could not be written later: `errc::io`, and as `place_of_output`.
/// Writes nothing.
void check_output(const std::filesystem::path& file, const std::string& option);

/// Opens the place as it is, with these flags of open(2); what does not exist is made where they
/// say so. A descriptor of this process is shared, with its offset. Throws `errc::io`.
file_descriptor open_output(const output_place& x, int flags, const std::string& option);

} // namespace leat
