#include "runtime/lending/result_check.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/test.hpp"

namespace leat::result_check_test {
namespace {

using outcome = row_result::outcome;

job_plan plan_with(bad_sample_policy policy) {
  auto plan = *noisy_plan(20, 4);
  plan.bad_samples = policy;
  return plan;
}

row_request row_at(std::uint64_t position) {
  row_request row;
  row.position = position;
  row.own = {7, 1};
  return row;
}

row_result result_of(const row_request& row) {
  row_result x;
  x.delivered = row.own;
  return x;
}

TEST_CASE("result_check: a good row has its own item, and counts no inputs that there are not") {
  const auto plan = plan_with(bad_sample_policy::fail);
  const auto row = row_at(3);
  auto x = result_of(row);
  REQUIRE(may_be_result(x, row, plan));
  x.delivered.item = 8;
  REQUIRE_FALSE(may_be_result(x, row, plan));
  x = result_of(row);
  x.given.resize(1); // there is no mix
  REQUIRE_FALSE(may_be_result(x, row, plan));
  x = result_of(row);
  x.what = outcome::failed;
  REQUIRE_FALSE(may_be_result(x, row, plan));
}

TEST_CASE("result_check: a bad sample is what the job's policy makes of it") {
  const auto row = row_at(3);
  auto masked = result_of(row);
  masked.what = outcome::masked;
  masked.bad = bad_row{.position = 3, .id = "7", .text = {}, .substitute = {}};
  auto replaced = result_of(row);
  replaced.delivered.item = 11;
  replaced.bad = bad_row{.position = 3, .id = "7", .text = {}, .substitute = "11"};
  for (const auto policy :
       {bad_sample_policy::fail, bad_sample_policy::mask, bad_sample_policy::substitute}) {
    const auto plan = plan_with(policy);
    REQUIRE(may_be_result(masked, row, plan) == (policy == bad_sample_policy::mask));
    REQUIRE(may_be_result(replaced, row, plan) == (policy == bad_sample_policy::substitute));
  }
  masked.bad->position = 4;
  REQUIRE_FALSE(may_be_result(masked, row, plan_with(bad_sample_policy::mask)));
  masked.bad.reset();
  REQUIRE_FALSE(may_be_result(masked, row, plan_with(bad_sample_policy::mask)));
  const auto plan = plan_with(bad_sample_policy::substitute);
  replaced.delivered.item = 20; // items are 0 to 19
  REQUIRE_FALSE(may_be_result(replaced, row, plan));
  replaced.delivered = {11, 2};
  REQUIRE_FALSE(may_be_result(replaced, row, plan));
}

TEST_CASE("result_check: what was found in a bad item is for jobs that mask") {
  auto row = row_at(3);
  row.edge = 0;
  row_result x;
  REQUIRE(may_be_result(x, row, plan_with(bad_sample_policy::fail)));
  x.seen.found.bad = true;
  REQUIRE_FALSE(may_be_result(x, row, plan_with(bad_sample_policy::fail)));
  REQUIRE(may_be_result(x, row, plan_with(bad_sample_policy::mask)));
}

} // namespace
} // namespace leat::result_check_test
