#pragma once

#include "runtime/storage/object_store.hpp"

#include <cstdint>

namespace leat {

enum class mapped_use : std::uint8_t {
  /// A few files, each read all the time, at any place. All stay mapped, or none if they are many.
  staying,
  /// Any number of files, a few at a time and each from its beginning to its end. Those that were
  /// mapped first are closed, and pages that were read are given up, so that not more than some 256
  /// MB of them count as the process's memory.
  passing,
};

/// The file system, with files that are opened by their names mapped into memory: what the page
/// cache holds is read without a call of the system. A file that becomes shorter is read with
/// pread(2), which says what is wrong; and so is what the page cache does not hold, and all files
/// where they cannot be mapped, or where another part of the program handles SIGBUS.
const object_store& mapped_store(mapped_use use);

} // namespace leat
