#include "runtime/network/host_list.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/thrown_error.hpp"

#include <string>

namespace leat::host_list_test {
namespace {

TEST_CASE("host list: the first host, with the first number of each bracket") {
  const auto first = [](const char* text) { return first_host(text, "x"); };
  CHECK(first("node[01-03,7],other5") == "node01");
  CHECK(first("node[7,01-03]-ib,other5") == "node7-ib");
  CHECK(first("other5,node[01-03,7]") == "other5");
  CHECK(first("rack[0-1]n[008-010].cluster") == "rack0n008.cluster");
  CHECK(first("[3-4]") == "3");
  CHECK(first("a") == "a");
  CHECK(first("a-b-1,c") == "a-b-1");
}

TEST_CASE("host list: what Slurm never writes is refused, wherever it stands") {
  for (const std::string text :
       {"",       ",",      "a,",    ",a",    "a,,b",   "n[",    "n]",
        "n[]",    "n[1",    "n[1-]", "n[-1]", "n[1,]",  "n[,1]", "n[1-2-3]",
        "n[a-b]", "n[[1]]", "n[1]]", "a,n[1", "a,n[x]", "a,b]",  "n[1 -2]"}) {
    CAPTURE(text);
    const auto problem = problem_of([&] { first_host(text, "SLURM_JOB_NODELIST"); });
    REQUIRE(problem);
    CHECK(problem->code() == errc::invalid_argument);
    CHECK(problem->details().stage == "SLURM_JOB_NODELIST");
  }
}

} // namespace
} // namespace leat::host_list_test
