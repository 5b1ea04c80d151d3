#pragma once

#include <leat/loader.hpp>

namespace leat {

/// Takes batches up to the end of the job, or to an error.
inline void drain(loader& from) {
  while (from.next())
    ;
}

} // namespace leat
