#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace leat {

/// The bytes that a text in base64 stands for, with its padding; nothing for another text.
std::optional<std::string> bytes_of_base64(std::string_view text);

} // namespace leat
