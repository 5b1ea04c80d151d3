#include "tools/leat/batch_lines.hpp"

#include <leat/pipeline_facts.hpp>

#include "tools/leat/option_values.hpp"

#include <string>
#include <utility>

namespace leat::command {

order_preview due_batches(const pipeline& job, const preview_options& from) {
  if (from.epoch != 0 && end_of(job) == epoch_end::cycle)
    bad_usage("--epoch", std::to_string(from.epoch),
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

batch_line line_of(const batch& x) {
  batch_line line{.epoch = x.epoch(),
                  .step = x.step(),
                  .rank = x.rank(),
                  .world_size = x.world_size(),
                  .positions = x.positions(),
                  .ids = x.ids(),
                  .digest = x.digest(),
                  .pixels = x.content_hashes()};
  for (const auto& row : x.bad())
    line.bad.push_back({row.position, row.id, std::string{to_string(row.why)}, row.substitute});
  return line;
}

} // namespace leat::command
