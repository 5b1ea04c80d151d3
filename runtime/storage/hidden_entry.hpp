#pragma once

#include <string_view>

namespace leat {

/// True for the path of an entry that systems keep beside data: a component begins with a dot
/// (other than "." and ".."), or is `__MACOSX`, `@eaDir`, `Thumbs.db` or `desktop.ini`. The path is
/// one inside of the data, a folder's entry or an archive's member: where the data lie says
/// nothing.
bool is_hidden_entry(std::string_view path) noexcept;

} // namespace leat
