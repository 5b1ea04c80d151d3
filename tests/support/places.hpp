#pragma once

namespace leat::test {

// Absolute paths, compiled into one source only (places.cpp): in any other source they would
// prevent a compiler cache from serving another clone.

/// Real photographs: tests that need them are skipped, with a message, if the folder does not
/// exist. The variable LEAT_TEST_PHOTOS may name another one.
extern const char* const photos_dir;
/// The root of the sources.
extern const char* const source_dir;
/// The command `leat`.
extern const char* const leat_command;
/// The program of tests/support/child_program.cpp.
extern const char* const child_program;
/// The library of tests/shim; empty in builds with sanitizers, which must be the first library.
extern const char* const failing_calls;
/// A folder with a driver for CUDA that needs no GPU (tests/shim/fake_cuda.cpp), for
/// LD_LIBRARY_PATH; empty where leat is built without CUDA.
extern const char* const fake_cuda_dir;

} // namespace leat::test
