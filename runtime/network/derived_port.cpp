#include "runtime/network/derived_port.hpp"

namespace leat {

std::uint16_t port_beside(std::uint16_t master_port) noexcept {
  const unsigned port = master_port;
  return static_cast<std::uint16_t>(port < 32768 ? port + 32768 : port - 28232);
}

std::uint16_t port_of_slurm(std::uint64_t job, std::uint64_t step) noexcept {
  return static_cast<std::uint16_t>(10000 + (job + 4099 * step) % 16384);
}

} // namespace leat
