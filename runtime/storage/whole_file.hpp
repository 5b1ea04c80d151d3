#pragma once

#include <cstddef>
#include <string>

namespace leat {

/// The content of a file, a FIFO or a device that ends. `stage` stands in errors.
/// Throws `errc::invalid_argument` for a directory, and where it has more than `limit` bytes, of
/// which one above them is read at most; `errc::not_found` and `errc::io` as `throw_errno`.
std::string read_whole_file(const std::string& path, std::size_t limit, const std::string& stage);

} // namespace leat
