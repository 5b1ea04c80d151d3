#pragma once

#include "runtime/storage/object_store.hpp"

#include <cstdint>

namespace leat {

enum class mapped_use : std::uint8_t {
  /// A few files, each read all the time, at any offset. All stay mapped; if they are many, none
  /// is.
  staying,
  /// Any number of files, a few at a time and each from its beginning to its end. The oldest
  /// mappings are dropped, and pages that were read are given up, so that no more than about 256
  /// MiB of them count as memory of the process.
  passing,
};

/// The file system, with files that are opened by a list of names mapped into memory: what the page
/// cache holds is read without a system call. pread(2) reads what the page cache does not hold, a
/// file that becomes shorter, which it reports, and all files if they cannot be mapped or another
/// part of the program handles SIGBUS.
const object_store& mapped_store(mapped_use use);

} // namespace leat
