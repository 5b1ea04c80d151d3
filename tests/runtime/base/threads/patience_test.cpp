#include "runtime/base/threads/patience.hpp"
#include "tests/support/test.hpp"

#include <leat/patience.hpp>

namespace leat::patience_test {

using namespace std::chrono_literals;

TEST_CASE("a caller within callers asks the next outer one, and all of them in turn") {
  bool goes_on = true;
  int asked = 0;
  const patience outermost{[&] {
                             ++asked;
                             return goes_on;
                           },
                           0ms};
  const patience middle{outer_caller_lasts, 0ms};
  const patience inner{outer_caller_lasts, 0ms};
  CHECK_NOTHROW(check_patience());
  CHECK(asked == 1);
  goes_on = false;
  CHECK_THROWS_AS(check_patience(), patience_ended);
  CHECK(asked == 2);
}

TEST_CASE("without an outer caller nobody ends a wait") {
  const patience only{outer_caller_lasts, 0ms};
  CHECK_NOTHROW(check_patience());
}

} // namespace leat::patience_test
