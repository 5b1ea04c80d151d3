#pragma once

#include "runtime/storage/object_store.hpp"

#include <memory>
#include <string>
#include <vector>

namespace leat {

/// Files that are mapped into memory: what the page cache holds is read without a system call.
/// pread(2) reads what the page cache does not hold, a file that becomes shorter, which it reports,
/// and all files if they cannot be mapped or another part of the program handles SIGBUS.
///
/// Files of `read_pattern::random` all stay mapped; if they are many, none is. Of other ones the
/// oldest mappings are dropped, and pages that were read are given up, so that no more than about
/// 256 MiB of them count as memory of the process.
std::shared_ptr<stored_objects> map_files(const std::vector<std::string>& names,
                                          read_pattern pattern);

} // namespace leat
