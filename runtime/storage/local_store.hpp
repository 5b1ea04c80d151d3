#pragma once

#include "runtime/storage/object_store.hpp"

namespace leat {

/// The file system. Reads run in the calling thread, which is fastest thanks to the kernel's cache
/// and read-ahead; so at most one read per thread is in flight. Files that are read in small parts
/// are mapped into memory.
const object_store& local_store();

} // namespace leat
