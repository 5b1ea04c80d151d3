#include "tests/support/restored_job.hpp"
#include "tests/support/test.hpp"

#include <leat/leat.hpp>

namespace leat::zip_test {
namespace {

/// So many samples with a field of that name, in an order that has a state.
pipeline some(std::uint64_t samples, const std::string& field) {
  return count(samples).map(rename("value", field)).sample(1);
}

TEST_CASE("zip: restored at every batch, whichever input ends first, and under what holds items") {
  // States are saved so often that some are saved while the buffer gives what it holds.
  for (const auto& sizes : std::vector<std::vector<std::uint64_t>>{
           {400, 290, 400}, {290, 400, 400}, {400, 400, 290}, {300, 300, 300}, {1, 40, 40}})
    for (const std::uint64_t lanes : {1, 2})
      for (const bool is_nested : {false, true}) {
        CAPTURE(sizes, lanes, is_nested);
        const auto inner = zip({some(sizes[1], "b"), some(sizes[2], "c")});
        const auto zipped =
            is_nested ? zip({some(sizes[0], "a"), inner.shuffle_buffer(150, 1)})
                      : zip({some(sizes[0], "a"), some(sizes[1], "b"), some(sizes[2], "c")});
        for (const auto& data : {zipped, zipped.shuffle_buffer(200, 3)})
          test::check_restores(data.batch(16, {.lanes = lanes, .end = epoch_end::mask}), 2);
      }
}

} // namespace
} // namespace leat::zip_test
