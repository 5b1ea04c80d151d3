#include "tests/support/places.hpp"

#include <cstdlib>

namespace leat::test {

namespace {

/// What an environment variable names instead, on machines that have no build.
const char* place_or(const char* variable, const char* otherwise) {
  const char* const named = std::getenv(variable);
  return named ? named : otherwise;
}

} // namespace

const char* const photos_dir = place_or("LEAT_TEST_PHOTOS", LEAT_PHOTOS);
const char* const source_dir = LEAT_SOURCE_DIR;
const char* const leat_command = LEAT_COMMAND;
const char* const child_program = LEAT_CHILD_PROGRAM;
const char* const failing_calls = LEAT_FAILING_CALLS;
const char* const fake_cuda_dir = LEAT_FAKE_CUDA_DIR;

} // namespace leat::test
