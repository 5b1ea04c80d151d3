#pragma once

#include "runtime/storage/object_store.hpp"

namespace leat {

/// The file system. The thread that asks for a read does it, which is fastest because of the
/// kernel's own cache and read-ahead; so there are as many reads in flight as threads that read.
const object_store& local_store();

} // namespace leat
