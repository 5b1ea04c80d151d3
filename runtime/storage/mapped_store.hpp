#pragma once

#include "runtime/storage/object_store.hpp"

namespace leat {

/// The file system, with files that are opened by their names mapped into memory: what the page
/// cache holds is read without a call of the system. Meant for few files that are read all the
/// time. A file that becomes shorter is read with pread(2) from then on, which says what is wrong;
/// and so are all files where they cannot be mapped, or another part of the program handles SIGBUS.
const object_store& mapped_store();

} // namespace leat
