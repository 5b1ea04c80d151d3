#pragma once

namespace leat {

/// Gives a descriptor another number, one that none had lately, and returns that; `fd` is closed
/// then. Where there is none left, it returns `fd` as it is. Any thread.
int with_fresh_number(int fd) noexcept;

} // namespace leat
