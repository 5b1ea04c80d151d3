#pragma once

#include <string>

namespace leat {

/// The system's text for an `errno`. If a file has reached this process's limit (EFBIG), adds the
/// limit and how to raise it.
std::string system_words(int code);

} // namespace leat
