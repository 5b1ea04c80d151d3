#pragma once

#include <leat/remote_options.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>

namespace leat {

/// Where blocks of remote objects are kept between reads, and how many.
struct cache_settings {
  /// Shared by all processes of this machine that name it; empty: nothing is kept.
  std::string directory = {};
  /// Bytes that its files may take, at least those of a block.
  std::uint64_t limit = std::numeric_limits<std::uint64_t>::max();
  /// Bytes of the disk that it leaves free; by default a twentieth of the disk, at most 10 GiB.
  std::optional<std::uint64_t> reserve = {};
  /// Who needs a block that another process is fetching waits so long before it fetches for itself.
  std::chrono::nanoseconds patience = std::chrono::seconds{10};
};

/// The cache that is `chosen`, and by LEAT_CACHE (a directory) and LEAT_CACHE_BYTES (the most that
/// it may take) what is not. `variable` gives the value of a variable of the environment, empty if
/// it is not set. Throws `errc::invalid_argument` for a directory on a server, for a number that is
/// none or too small, and for a limit that is chosen without a directory.
cache_settings read_cache_settings(const std::function<std::string(const char*)>& variable,
                                   const remote_options& chosen = {});

/// By this process's environment.
cache_settings process_cache_settings(const remote_options& chosen);

} // namespace leat
