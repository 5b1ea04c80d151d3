#include "tools/leat/batch_lines.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <leat/pipeline_facts.hpp>

#include "tools/leat/option_values.hpp"

#include <string>
#include <utility>

namespace leat::command {

order_preview due_batches(const pipeline& job, const preview_options& from) {
  if (from.epoch != 0 && end_of(job) == epoch_end::cycle)
    refuse_argument("--epoch", std::to_string(from.epoch),
                    "0: with end \"cycle\" there is one epoch, without end");
  return order_preview{job, from};
}

batch_line line_of(due_batch x) {
  return {.epoch = x.epoch,
          .step = x.step,
          .positions = std::move(x.positions),
          .ids = std::move(x.ids),
          .digest = x.digest};
}

} // namespace leat::command
