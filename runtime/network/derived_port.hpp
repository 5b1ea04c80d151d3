#pragma once

#include <cstdint>

namespace leat {

// Where nobody names the coordinator's port, all processes of a job derive it from what their
// launcher tells all of them. No rule can know which ports are in use; these keep jobs on one host
// apart from one another and from torch's store.

/// From torch's MASTER_PORT: 32768 more below 32768, and 28232 less from there on. So 29500 becomes
/// 62268, and the ports that Linux chooses by itself (32768 to 60999) become 4536 to 32767. The
/// result differs from MASTER_PORT, and two ports that Linux chose, or two below 32768, have
/// different results. `master_port` is at least 1.
std::uint16_t port_beside(std::uint16_t master_port) noexcept;

/// 10000 + (job + 4099 x step) mod 16384, which Linux does not choose by itself: jobs that follow
/// one another, and the steps of one job, have different ports.
std::uint16_t port_of_slurm(std::uint64_t job, std::uint64_t step) noexcept;

} // namespace leat
