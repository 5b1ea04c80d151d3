#include "tests/support/drain.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/standard.hpp"

#include <leat/leat.hpp>

// Two inputs of a zip with a field of the same name: refused if that is certain, otherwise a bad
// sample.
namespace leat::zip_names_test {
namespace {

TEST_CASE(
    "zip: two inputs that surely have a field of one name are refused when a job is planned") {
  for (const auto* text :
       {"zip(count(4), count(4)).batch(1)",
        "zip(count(4).take(2).shuffle(), count(4).repeat(2)).batch(1)",
        "zip(count(4).map(\"rename@1\", from=\"value\", to=\"index\"), "
        "count(4).map(\"select@1\", fields=[\"value\"]).enumerate()).batch(1)",
        "zip(count(4).filter(\"key_hash@1\", keep=50), concat(count(1), count(2))).batch(1)",
        "zip(count(4).pack(\"value\", 8), count(8).map(\"rename@1\", from=\"value\", "
        "to=\"segment\")).batch(1)"}) {
    CAPTURE(text);
    check_refusal(
        [&] {
          loader{parse_pipeline(text), {}};
        },
        errc::invalid_argument, {"in two inputs"});
  }
  for (const auto* text :
       {"zip(count(4), count(4).map(\"rename@1\", from=\"value\", to=\"v\")).batch(1)",
        "zip(count(4), count(4).enumerate().map(\"select@1\", fields=[\"index\"])).batch(1)"}) {
    CAPTURE(text);
    REQUIRE_NOTHROW(loader{parse_pipeline(text), {}});
  }
}

/// Only the first of four samples lacks the name on one side.
pipeline half_named() {
  const auto named = [](const char* name, std::uint64_t odd) {
    return from_function(name, 4,
                         [odd](std::uint64_t i, sample& s) { s.set(i == odd ? "other" : "n", i); });
  };
  return zip({named("a@1", 9), named("b@1", 0)});
}

TEST_CASE("zip: a conflict of names that shows only in the samples makes them bad") {
  const auto by_index = half_named();
  const auto streamed = half_named().filter({.name = "all@1", .of_id = [](auto) { return true; }});
  for (const auto& data : {by_index.batch(1), streamed.batch(1, {.end = epoch_end::mask}),
                           by_index.shuffle_buffer(4).batch(1, {.end = epoch_end::mask})}) {
    CAPTURE(to_string(data));
    loader masking{data, {.bad_samples = bad_sample_policy::mask}};
    std::size_t valid = 0;
    while (const auto batch = masking.next())
      valid += batch->valid_rows();
    REQUIRE(valid == 1);
    REQUIRE(masking.stats().bad[static_cast<std::size_t>(cause::wrong_shape)] == 3);
    loader failing{data, {}};
    check_refusal([&] { drain(failing); }, errc::bad_sample, {"two inputs of a zip"});
  }
}

} // namespace
} // namespace leat::zip_names_test
