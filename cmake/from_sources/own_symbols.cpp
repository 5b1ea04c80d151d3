// What Debian's archives would look for outside, once they are a part of libleat or of a program
// (from_sources/build).
#include <cstdio>

extern "C" {

extern FILE* leat_own_stderr;
FILE* leat_own_stderr = stderr; // set while the library is loaded; nothing prints there for leat

// zstd's tracing, for which any library could have functions; 0 says that there is none.
unsigned long long ZSTD_trace_decompress_begin(const void*) {
  return 0;
}
void ZSTD_trace_decompress_end(unsigned long long, const void*) {}
}
