#pragma once

#include "runtime/storage/file_descriptor.hpp"

#include <sys/uio.h>

#include <cstddef>
#include <span>

namespace leat {

// Both do not wait, and throw `link_ended` where the connection has ended.

/// Receives into these, one after the other; returns the number of bytes. 0: nothing is there yet.
std::size_t receive_some(const file_descriptor& socket, std::span<iovec> into);
/// Sends the beginning of these; returns the number of bytes. 0: the socket takes no more now.
std::size_t send_some(const file_descriptor& socket, std::span<iovec> bytes);

} // namespace leat
