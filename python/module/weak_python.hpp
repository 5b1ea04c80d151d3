#pragma once

// Where the command is a part of the module (python/CMakeLists.txt), this is included first in each
// source. Symbols that Python's headers declare may then be missing in a process that loads the
// module. Python's headers define these two macros only if they are not defined yet.

#define PyAPI_FUNC(type) __attribute__((visibility("default"), weak)) type
#define PyAPI_DATA(type) extern __attribute__((visibility("default"), weak)) type
