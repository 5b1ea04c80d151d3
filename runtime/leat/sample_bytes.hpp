#pragma once

#include <leat/export.hpp>
#include <leat/sample.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace leat {

// Fields of a sample as bytes, for a journal or another process on the same machine.

/// Number of bytes that `write_fields` writes. Throws `bad_sample` (missing_field).
LEAT_API std::size_t num_field_bytes(const sample& x, std::span<const std::string> names);

/// Writes name, kind, shape and bytes of these fields, in this order, to `to`, which has as many
/// bytes as that. Throws `bad_sample` (missing_field).
LEAT_API void write_fields(const sample& x, std::span<const std::string> names,
                           std::span<std::byte> to);

/// All fields, in their order.
LEAT_API std::string bytes_of(const sample& x);

/// Whether fields of bytes lie where they were read from, which must then outlive the row.
enum class read_bytes : std::uint8_t { borrowed, copied };

/// Sets the fields that were written. Throws `bad_sample` (corrupt) for anything that
/// `write_fields` would not write.
LEAT_API void set_fields(sample& into, std::span<const std::byte> bytes,
                         read_bytes how = read_bytes::borrowed);

} // namespace leat
