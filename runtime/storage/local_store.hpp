#pragma once

#include "runtime/storage/object_store.hpp"

namespace leat {

/// The file system. Reads happen in the thread that asks for them, which the kernel's own cache and
/// read-ahead make the fastest way; so as many are under way as there are threads that read.
const object_store& local_store();

} // namespace leat
