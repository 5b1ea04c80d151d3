#pragma once

#include <leat/pipeline.hpp>

#include <string>
#include <vector>

namespace leat {

/// Whether all files that the pipeline's sources name lie below one of the folders, as they are
/// written: sources without files do. Looks at no file but the folders, and their links.
bool reads_only_below(const pipeline& x, const std::vector<std::string>& folders);

/// The first file that a map of leat's reads and that does not lie below one of the folders; empty
/// if there is none.
std::string model_not_below(const pipeline& x, const std::vector<std::string>& folders);

} // namespace leat
