#pragma once

#include <cstdint>
#include <string>

namespace leat {

/// All of a file, pipe or device. Throws `errc::not_found`, `errc::io` (also for a directory), and
/// `errc::invalid_argument` for more than `limit` bytes. `stage` is who asks.
std::string content_of(const std::string& path, const std::string& stage, std::uint64_t limit);

} // namespace leat
