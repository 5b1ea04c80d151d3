#pragma once

#include <cstddef>
#include <string>

namespace leat {

/// The content of a file, a FIFO or a device that ends. `stage` stands in errors.
/// Throws `errc::invalid_argument` where it has more than `limit` bytes, having read no more than
/// one of them, and for a directory; `errc::not_found` and `errc::io` as `throw_errno`.
std::string read_whole_file(const std::string& path, std::size_t limit, const std::string& stage);

} // namespace leat
