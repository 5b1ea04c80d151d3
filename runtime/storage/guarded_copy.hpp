#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace leat {

/// Fills `into` with the bytes at `offset` of `mapping`, which maps a whole file as long as it was
/// at that time. Returns false if the file has become shorter, so that not all of them are there,
/// or if its storage fails: touching such bytes raises SIGBUS, which is handled here and does not
/// end the process. Also returns false for bytes in the last page, where a file that was cut short
/// looks like one that ends in zeros. After false, the content of `into` is undefined. Any thread.
///
/// `next` is what the thread will copy next, if that is known: these bytes are prefetched during
/// the copy. They are not read, and may be gone.
///
/// The first call installs a handler of SIGBUS, which passes all other signals to the previous
/// handler.
bool guarded_copy(std::span<const std::byte> mapping, std::uint64_t offset,
                  std::span<std::byte> into, std::span<const std::byte> next = {}) noexcept;

/// Whether the process's handler of SIGBUS is still that of guarded_copy: another part of the
/// program may have installed its own since. Costs one system call.
bool copies_are_guarded() noexcept;

} // namespace leat
