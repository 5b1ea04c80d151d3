#pragma once

// Where the command is a part of the module (python/CMakeLists.txt), this comes before all else in
// each source: what Python's headers declare is then allowed to be missing in a process that loads
// the module. Python leaves these two macros to whoever defines them first.

#define PyAPI_FUNC(type) __attribute__((visibility("default"), weak)) type
#define PyAPI_DATA(type) extern __attribute__((visibility("default"), weak)) type
