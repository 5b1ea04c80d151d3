#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace leat {

/// What a coordinator keeps: its own bytes, and the job that they belong to.
struct job_state {
  std::string job;
  std::string bytes;

  friend bool operator==(const job_state&, const job_state&) = default;
};

/// Largest state: about 200 bytes per rank.
inline constexpr std::size_t max_state_bytes = std::size_t{1} << 30;

/// A state as a file: magic, version, sizes and an XXH3-128 checksum, then job and bytes.
std::string encode_state(std::string_view job, std::string_view bytes);

/// Reads what `encode_state` wrote. Throws `errc::torn_file` with the file's name for anything
/// else, and `errc::mismatch` for the version of a later leat.
job_state decode_state(std::string_view text, const std::string& file);

} // namespace leat
