#include "runtime/base/secret.hpp"

#include <cstring>

namespace leat {

void wipe(void* bytes, std::size_t size) noexcept {
  if (size > 0)
    ::explicit_bzero(bytes, size);
}

} // namespace leat
