#pragma once

#include "runtime/storage/object_store.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>

namespace leat {

/// Reads all of these parts and waits for them, without a lock or another thread if the store has
/// the bytes at once. May change `parts`. Throws the store's failure, and `errc::torn_file` if an
/// object ends too early, with its name, the offset, and what was there.
void read_now(stored_objects& from, std::span<read_part> parts, const std::stop_token& stop = {});

/// Reads one part in the same way.
void read_now(stored_objects& from, std::size_t object, std::uint64_t offset,
              std::span<std::byte> into, const std::stop_token& stop = {});

/// Fills `into` up to the object's end; returns the number of bytes. Throws the store's failure.
std::size_t read_most(stored_objects& from, std::size_t object, std::uint64_t offset,
                      std::span<std::byte> into, const std::stop_token& stop = {});

} // namespace leat
