#include "runtime/lending/result_check.hpp"

#include <cstddef>

namespace leat {

namespace {

using outcome = row_result::outcome;

/// A row that has its own sample, or is masked, has its own item.
bool is_delivered(const epoch_item& x, const row_request& of, const job_plan& plan,
                  bool is_substitute) {
  if (!is_substitute)
    return x == of.own;
  return plan.shape.is_indexed && x.item < plan.shape.items && x.epoch == of.own.epoch;
}

} // namespace

bool may_be_result(const row_result& x, const row_request& of, const job_plan& plan) {
  std::size_t inputs = 0;
  for (const auto& mix : plan.samples->mixes)
    inputs += mix.inputs;
  if (x.what == outcome::failed || x.given.size() > inputs)
    return false;
  const bool masks = plan.bad_samples == bad_sample_policy::mask;
  if (of.edge)
    return x.what == outcome::good && !x.bad && (masks || !x.seen.found.bad);
  if (x.bad && x.bad->position != of.position)
    return false;
  const bool is_masked = x.what == outcome::masked;
  const bool is_substitute = x.bad && x.bad->substitute;
  if (is_masked ? !masks || !x.bad || is_substitute : x.bad && !is_substitute)
    return false;
  if (is_substitute && plan.bad_samples != bad_sample_policy::substitute)
    return false;
  return is_delivered(x.delivered, of, plan, is_substitute);
}

} // namespace leat
