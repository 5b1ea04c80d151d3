#pragma once

#include "runtime/sources/feed/feed_input.hpp"

#include <memory>
#include <string>
#include <vector>

namespace leat {

/// The lines of files, one file after the other, without their newlines; the last line of a file
/// needs none. A line's place is the file, by its number, and the offset after the line.
std::shared_ptr<feed_input> file_lines(std::vector<std::string> files);

} // namespace leat
