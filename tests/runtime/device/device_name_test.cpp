#include "runtime/device/device_name.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/thrown_error.hpp"

#include <string>

namespace leat::device_name_test {
namespace {

TEST_CASE("device_name: a device is the host, CUDA's first one, or one by its number") {
  CHECK(parse_device("cpu", "device").gpu == std::nullopt);
  CHECK(parse_device("cuda", "device").gpu == 0);
  CHECK(parse_device("cuda:0", "device") == parse_device("cuda", "device"));
  CHECK(parse_device("cuda:17", "device").gpu == 17);
  CHECK(parse_device("cpu", "device").text() == "cpu");
  CHECK(parse_device("cuda", "device").text() == "cuda:0");
  CHECK(parse_device("cuda:2", "device").text() == "cuda:2");
}

TEST_CASE("device_name: anything else is refused, with what was written") {
  for (const std::string x : {"", "gpu", "CUDA", "cuda:", "cuda:-1", "cuda:+1", "cuda:1x",
                              "cuda: 1", "cuda:99999999999", "cuda:1:2", "cpu:0", "mps", "cuda0"}) {
    CAPTURE(x);
    const auto problem = problem_of([&] { parse_device(x, "loader_options::device"); });
    REQUIRE(problem);
    CHECK(problem->code() == errc::invalid_argument);
    CHECK(problem->what()
          == "invalid argument: loader_options::device, got \"" + x
                 + "\", needed \"cpu\", \"cuda\" or \"cuda:N\"");
  }
}

} // namespace
} // namespace leat::device_name_test
