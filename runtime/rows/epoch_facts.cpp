#include "runtime/rows/epoch_facts.hpp"

#include "runtime/rows/job_plan.hpp"

#include <algorithm>

namespace leat {

epoch_facts facts_of(const epoch_geometry& x) {
  epoch_facts facts{
      .batch_rows = x.batch_rows, .lanes = x.lanes, .end = x.end, .is_indexed = x.is_indexed};
  if (x.is_indexed)
    facts.samples = x.items;
  if (x.has_length())
    facts.batches = x.batches();
  return facts;
}

epoch_facts epoch_of(const pipeline& x) {
  return facts_of(shape_of(x));
}

std::vector<std::uint64_t> epoch_facts::world_sizes() const {
  if (is_indexed)
    return {};
  std::vector<std::uint64_t> divisors;
  for (std::uint64_t i = 1; i <= lanes / i; ++i)
    if (lanes % i == 0) {
      divisors.push_back(i);
      if (i != lanes / i)
        divisors.push_back(lanes / i);
    }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

} // namespace leat
