#pragma once

#include <string>
#include <string_view>

namespace leat {

/// In hexadecimal. Throws std::bad_alloc.
std::string sha256_text(std::string_view bytes);

} // namespace leat
