#include "tests/support/places.hpp"

namespace leat::test {

const char* const photos_dir = LEAT_PHOTOS;
const char* const source_dir = LEAT_SOURCE_DIR;
const char* const leat_command = LEAT_COMMAND;
const char* const failing_calls = LEAT_FAILING_CALLS;
const char* const fake_cuda_dir = LEAT_FAKE_CUDA_DIR;

} // namespace leat::test
