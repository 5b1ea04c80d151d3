#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace leat {

/// The header of a record in a journal of frames: its length and two checksums, 8 bytes
/// little-endian each. The first checksum is over the record's number and length, so that a damaged
/// length cannot pass for a write that was cut short; the second one is over the content.
inline constexpr std::size_t frame_header_bytes = 24;

/// Header and content of record `number`.
std::string make_frame(std::uint64_t number, std::string_view content);

/// The length of the content; empty if this is not a header of this record.
std::optional<std::uint64_t> content_bytes(std::span<const std::byte, frame_header_bytes> header,
                                           std::uint64_t number);

/// Whether this content belongs to the header.
bool is_content_of(std::span<const std::byte, frame_header_bytes> header,
                   std::span<const std::byte> content);

} // namespace leat
