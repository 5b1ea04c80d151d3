#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace leat {

/// Reads what a descriptor has ready: the number of bytes, 0 at the end of input; empty if nothing
/// is there yet. Throws `errc::io`.
std::optional<std::size_t> read_ready(int from, std::span<std::byte> into);

/// Moves what a descriptor has ready, at most `most` bytes, to `offset` of a file that is not open
/// for appending. The bytes of a pipe leave it at the moment at which the file has them: a process
/// killed in between loses none, and neither does a full disk. From other descriptors, or if the
/// file's system has no splice(2), they are read, then written. Returns as `read_ready` does.
/// Throws `errc::io`, without the file's name.
std::optional<std::size_t> move_ready(int from, int file, std::uint64_t offset, std::size_t most);

/// Writes all, or throws `errc::io` without the file's name: some of the bytes may then be in the
/// file.
void write_at(int file, std::uint64_t offset, std::span<const std::byte> bytes);

} // namespace leat
