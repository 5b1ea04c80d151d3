#pragma once

#include "runtime/storage/file_descriptor.hpp"

#include <cstddef>
#include <string>

namespace leat {

/// Opens a file to be read from its beginning to its end: a plain file, or a descriptor of this
/// process under a name such as /dev/stdin or a shell's `<(...)`. Throws as
/// `file_descriptor::open`.
file_descriptor open_input(const std::string& path);

/// The content of what `open_input` opens. `stage` is named in errors. Throws as `open_input`, and
/// `errc::invalid_argument` if there are more than `limit` bytes; reads at most one beyond them.
std::string read_whole_file(const std::string& path, std::size_t limit, const std::string& stage);

} // namespace leat
