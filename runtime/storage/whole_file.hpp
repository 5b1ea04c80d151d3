#pragma once

#include "runtime/storage/file_descriptor.hpp"

#include <cstddef>
#include <string>

namespace leat {

/// Opens what is read from its beginning to its end: a plain file, or what this process has open
/// under a name such as /dev/stdin or a shell's `<(...)`. Throws as `file_descriptor::open`.
file_descriptor open_input(const std::string& path);

/// The content of what `open_input` opens. `stage` stands in errors. Throws as that, and
/// `errc::invalid_argument` where it has more than `limit` bytes, of which one above them is read
/// at most.
std::string read_whole_file(const std::string& path, std::size_t limit, const std::string& stage);

} // namespace leat
