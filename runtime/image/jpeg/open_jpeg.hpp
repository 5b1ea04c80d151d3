#pragma once

#include "runtime/image/jpeg/jpeg_session.hpp"

#include <cstddef>
#include <span>

namespace leat {

/// Opens a whole file: headers, limit of pixels, end marker. Throws `bad_sample`: empty, truncated
/// (no end marker, or headers cut short), corrupt (with libjpeg's text), unsupported (12-bit,
/// lossless, another image format), too_large; nothing is allocated for the latter.
void open_jpeg(jpeg_session& session, std::span<const std::byte> file, std::size_t max_pixels);

/// Throws the `bad_sample` that the session's failure is.
[[noreturn]] void throw_bad_jpeg(const jpeg_session& session);

} // namespace leat
