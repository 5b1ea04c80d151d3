#pragma once

#include <leat/hash128.hpp>

#include <cstdint>
#include <string_view>

namespace leat {

/// Digest of one delivered row: XXH3-128, seed 0, of (epoch, 8 bytes little-endian; position,
/// likewise; id of what was delivered, UTF-8). A batch's digest is the sum over its valid rows
/// modulo 2^128. Layout and test vectors in docs/digest.md.
hash128 row_digest(std::uint64_t epoch, std::uint64_t position, std::string_view id) noexcept;

} // namespace leat
