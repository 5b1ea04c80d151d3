#pragma once

#include <leat/pipeline.hpp>
#include <leat/pipeline_facts.hpp>

#include <string>
#include <vector>

namespace leat {

// Which files a process opens because another one names them: those below its own folders, with
// all links followed. Nothing here opens a file.

/// Whether all files that the pipeline's sources name lie below one of the folders, as they are
/// written: sources without files do, those of other stores do not. What patterns match, and what
/// folders hold, is for check_files_below.
bool reads_only_below(const pipeline& x, const std::vector<std::string>& folders);

/// Lists the files of such a pipeline. Throws `leat::error` if there are none, if one is not a
/// plain file, and if a link leads out of the folders.
void check_files_below(const pipeline& x, const std::vector<std::string>& folders);

/// The files that the patterns of a source match: all that it reads. Throws as `find_files`.
std::vector<std::string> files_of_patterns(const operator_node& source);

/// The first file that a map of leat's would open and that does not lie below one of the folders;
/// empty if there is none. A relative name that no file here has is one that the program knows.
std::string model_not_below(const operator_facts& root, const std::vector<std::string>& folders);

} // namespace leat
