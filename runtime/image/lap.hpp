#pragma once

#include <leat/decode_times.hpp>

namespace leat {

/// Tells whoever watches, if anyone, that what passed since the last call was this part.
inline void lap(decode_times* watch, decode_part x) noexcept {
  if (watch)
    watch->lap(x);
}

} // namespace leat
