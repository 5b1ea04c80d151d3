#include "runtime/pipeline/tokenizer/package_number.hpp"
#include "tests/support/test.hpp"

#include <cmath>
#include <string>

namespace leat::package_number_test {
namespace {

TEST_CASE("numbers are what the package tokenizers reads, not the nearest ones") {
  CHECK(number_of_package("-9.057106293438139") == -9.05710629343814);
  CHECK(number_of_package("-9.119524655781735") == -9.119524655781737);
  CHECK(number_of_package("-12.345678901234567e+2") == -1234.567890123457);
  CHECK(number_of_package("9007199254740993.0") == 9007199254740994.0);
  CHECK(number_of_package("1844674407370955161600e-3") == 1844674407370955300.0);
  CHECK(number_of_package("123456789012345678901234.5") == 1.2345678901234567e23);
  CHECK(number_of_package("18446744073709551615.5") == 18446744073709552000.0);
  CHECK(number_of_package("0.1") == 0.1);
  CHECK(number_of_package("-1.5e-7") == -1.5e-7);
  CHECK(number_of_package("1E5") == 1e5);
  CHECK(number_of_package("5e-324") == 5e-324);
  CHECK(number_of_package("1e-400") == 0);
  CHECK(number_of_package("0e99999999999") == 0);
  CHECK(std::signbit(number_of_package("-0.0")));
  CHECK(std::isinf(number_of_package("1e309")));
  CHECK(std::isinf(number_of_package("1e99999999999")));
}

} // namespace
} // namespace leat::package_number_test
