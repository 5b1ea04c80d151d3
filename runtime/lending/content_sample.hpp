#pragma once

#include <leat/hash128.hpp>
#include <leat/pipeline.hpp>

namespace leat {

/// A hash of stretches of the files that sources name by absolute paths, a few of each source:
/// copies with the same names and sizes, and other content, are most likely told apart, if not each
/// changed byte. What cannot be read enters as such. Opens the data.
hash128 content_sample(const pipeline& x);

} // namespace leat
