#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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

/// Looks for `what` from `offset` up to `end` of such a mapping: writes the offsets at which it is,
/// in rising order, into `places`, and how many there are into `found`; into `following`, which has
/// as many elements or none, the byte after each, or `what` where that is in the last page.
/// Returns where it stopped: at `end`, or at the last page, or after the last place if there are
/// no more; nothing where guarded_copy is false. No other byte is copied.
std::optional<std::uint64_t> guarded_find(std::span<const std::byte> mapping, std::uint64_t offset,
                                          std::uint64_t end, std::byte what,
                                          std::span<std::uint64_t> places,
                                          std::span<std::byte> following,
                                          std::size_t& found) noexcept;

/// Whether the process's handler of SIGBUS is that of guarded_copy: another part of the program may
/// have installed its own since. One call of the system.
bool copies_are_guarded() noexcept;

} // namespace leat
