// Replaces Catch2's own main().
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_RUNNER
#endif
#include "tests/support/catch.hpp"

/// Makes the name of its source file a tag of each test, by which ctest lists tests.
int main(int argc, char** argv) {
  Catch::Session session;
  session.configData().filenamesAsTags = true;
  return session.run(argc, argv);
}
