#pragma once

#include "runtime/base/error_in_flight.hpp"

#include <cstdint>
#include <string>

namespace leat {

// Sizes and counts above these limits are taken for typing errors: they ask for memory or time that
// no machine has. Each is refused where it is given, with an error that names it.

/// Rows of a global batch; claims count them in 32 bits.
inline constexpr std::uint64_t max_batch_rows = std::uint64_t{1} << 24;
/// Tokens of a global batch.
inline constexpr std::uint64_t max_batch_tokens = std::uint64_t{1} << 32;
/// Units of a source: files times ranges, or the number that a program gives. Each has a state of
/// its own.
inline constexpr std::uint64_t max_units = 10'000'000;
/// Parts of one file that are read as separate files.
inline constexpr std::uint64_t max_ranges = 1 << 16;
/// Files of a source, and files that one pattern with braces stands for.
inline constexpr std::uint64_t max_files = 1'000'000;
/// Samples that a shuffle buffer holds, over all lanes.
inline constexpr std::uint64_t max_buffered = std::uint64_t{1} << 32;
/// Boundaries between lengths of samples.
inline constexpr std::uint64_t max_boundaries = 1 << 16;
/// Packs that are open at the same time.
inline constexpr std::uint64_t max_bins = 1 << 16;
/// Consecutive repetitions of a `repeat` in which a lane finds nothing.
inline constexpr std::uint64_t max_empty_passes = 1 << 16;
/// Bytes of one record of `raw_records` or `count`, and of one row of a field that a snapshot
/// names.
inline constexpr std::uint64_t max_record_bytes = std::uint64_t{1} << 31;
inline constexpr std::uint64_t max_world_size = 1'000'000;
inline constexpr std::uint64_t max_batches_ahead = 4096;
inline constexpr std::uint64_t max_leases = 1 << 16;

/// Throws `errc::invalid_argument` for a count outside `least` to `most`.
inline void check_range(const std::string& stage, std::uint64_t x, std::uint64_t least,
                        std::uint64_t most) {
  if (x < least || x > most)
    refuse_argument(stage, std::to_string(x),
                    std::to_string(least) + " to " + std::to_string(most));
}

} // namespace leat
