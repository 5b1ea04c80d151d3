#pragma once

#include "runtime/storage/object_store.hpp"

namespace leat {

/// The file system, with files that are opened by their names mapped into memory: what the page
/// cache holds is read without a call of the system. Meant for few files that are read all the
/// time. A file that becomes shorter is read with pread(2), which says what is wrong; and so is
/// what the page cache does not hold, and all files where they cannot be mapped, or where another
/// part of the program handles SIGBUS.
const object_store& mapped_store();

} // namespace leat
