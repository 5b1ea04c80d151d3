#pragma once

#include <cstdint>
#include <string_view>

namespace leat {

/// The key of a map's random numbers: the low half of XXH3-128 (see hash_stream) of "map", seed,
/// the map's name@version, and its ordinal among the maps of that name. It does not depend on
/// parameters and other operators.
std::uint64_t map_stream(std::uint64_t seed, std::string_view name, std::uint64_t ordinal);

/// The identity of a record for its random numbers: the low half of XXH3-128 of (source ordinal,
/// epoch, repeat pass, record), each 8 bytes little-endian.
std::uint64_t sample_key_of(std::uint64_t source, std::uint64_t epoch, std::uint64_t pass,
                            std::uint64_t record) noexcept;

} // namespace leat
