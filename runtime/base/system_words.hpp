#pragma once

#include <string>

namespace leat {

/// What the system says of a call that failed, by its `errno`; with the limit of this process where
/// a file has reached that (EFBIG), and how to raise it.
std::string system_words(int code);

} // namespace leat
