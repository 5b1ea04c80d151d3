#include "runtime/job/job_progress.hpp"

namespace leat {

void job_progress::pass(const batch_plan& x) {
  if (x.step == 0)
    sums.epoch_digest = {};
  next = x.end_of_epoch ? job_position{x.epoch + 1, 0} : job_position{x.epoch, x.step + 1};
  lanes = x.end_of_epoch ? nullptr : x.lanes;
  ++global_step;
}

void job_progress::count(const batch_slot& x) {
  sums.digest += x.summary().digest;
  sums.epoch_digest += x.summary().digest;
  sums.samples += x.summary().num_valid;
  add(sums.given, x.summary().given);
  for (const auto& row : x.summary().bad)
    ++sums.bad[static_cast<std::size_t>(row.why)];
}

} // namespace leat
