#pragma once

#include <string_view>

namespace leat {

/// True for entries that systems add to data: a component of the path begins with a dot (other than
/// "." and ".."), or is `__MACOSX`, `@eaDir`, `Thumbs.db` or `desktop.ini`. The path is relative to
/// the data, that of a folder's entry or an archive's member: the directories above do not matter.
bool is_hidden_entry(std::string_view path) noexcept;

} // namespace leat
