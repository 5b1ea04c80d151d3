#pragma once

#include <leat/secret.hpp>

#include <cstddef>

namespace leat {

/// Overwrites bytes that are not needed any more; no compiler leaves that out.
void wipe(void* bytes, std::size_t size) noexcept;

} // namespace leat
