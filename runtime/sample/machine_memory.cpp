#include "runtime/sample/machine_memory.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <unistd.h>

#include <cstdint>
#include <string>

namespace leat {

std::size_t memory_of_machine() noexcept {
  const auto pages = ::sysconf(_SC_PHYS_PAGES);
  const auto page = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page)
                               : SIZE_MAX - 1;
}

void refuse_sample_bytes(std::size_t bytes, std::size_t most) {
  throw_error(errc::no_resources, "sample", std::to_string(bytes) + " bytes in one sample",
              "at most " + std::to_string(most)
                  + ", half of this machine's memory: a shorter length, fewer fields or "
                    "smaller records");
}

} // namespace leat
