#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace leat {

/// Fills `into` with the bytes at `offset` of a mapping of a file, from its beginning to the end
/// that it had then. False if the file has become shorter, so that not all of them are there, or if
/// its storage fails: a program that touches such bytes gets SIGBUS, which in here is an answer,
/// and not the end of the process. False, too, for bytes in the last page, which cannot tell a file
/// that was cut short from one that ends in zeros. After false, the content of `into` is undefined.
/// Any thread.
///
/// `next` is what the thread copies afterwards, if it knows: these bytes come from memory while it
/// copies the others, and then does something else. They are not read, and may be gone.
///
/// The first call installs a handler of SIGBUS, which passes on all signals that are not from here
/// to the handler that was there before.
bool guarded_copy(std::span<const std::byte> mapping, std::uint64_t offset,
                  std::span<std::byte> into, std::span<const std::byte> next = {}) noexcept;

/// Whether the process's handler of SIGBUS is that of guarded_copy: another part of the program may
/// have installed its own since. One call of the system.
bool copies_are_guarded() noexcept;

} // namespace leat
