// In place of Catch2's own main().
#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_RUNNER
#endif
#include "tests/support/catch.hpp"

/// The name of its source is a tag of each test: ctest lists tests by it.
int main(int argc, char** argv) {
  Catch::Session session;
  session.configData().filenamesAsTags = true;
  return session.run(argc, argv);
}
