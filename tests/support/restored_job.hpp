#pragma once

#include "tests/support/catch.hpp"
#include "tests/support/job.hpp"

#include <leat/loader.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace leat::test {

/// Restores a job at every batch, with 0 to 2 workers, and compares the state and all later batches
/// with those of the whole job. Returns the steps of the whole job.
inline std::vector<job_step> check_restores(const pipeline& data, std::uint64_t epochs) {
  const auto options = [&](std::size_t workers) {
    return loader_options{.workers = workers,
                          .epochs = epochs,
                          .bad_samples = bad_sample_policy::mask,
                          .hash_pixels = true};
  };
  loader whole{data, options(0)};
  std::vector<job_step> reference;
  std::vector<std::string> states{whole.snapshot()};
  while (const auto batch = whole.next()) {
    append(reference, *batch);
    states.push_back(batch->snapshot());
  }
  for (std::size_t at = 0; at < states.size(); ++at) {
    CAPTURE(at);
    loader x{data, options(at % 3)};
    x.restore_parts({states[at]});
    REQUIRE(x.snapshot() == states[at]); // without a step in between
    REQUIRE(next_steps(x)
            == std::vector<job_step>(reference.begin() + static_cast<std::ptrdiff_t>(at),
                                     reference.end()));
  }
  return reference;
}

} // namespace leat::test
