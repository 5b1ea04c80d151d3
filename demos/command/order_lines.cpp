#include "demos/command/order_lines.hpp"

#include "runtime/digest.hpp"
#include "runtime/pipeline_facts.hpp"

#include <leat/error.hpp>
#include <leat/source.hpp>

#include <algorithm>
#include <string>

namespace leat::command {

namespace {

std::shared_ptr<const order_config> order_of(const pipeline& job) {
  auto facts = describe(job);
  return std::make_shared<order_config>(
      order_config{.shuffle = facts.shuffle,
                   .batch_rows = facts.batch_rows,
                   .lanes = facts.lanes,
                   .end = facts.end,
                   .data_digest = facts.data.digest,
                   .records_per_file = job.data().records_per_file()});
}

} // namespace

order_lines::order_lines(const pipeline& job, std::uint64_t epoch)
    : data_(job.shared_data()), config_(order_of(job)), order_(config_, epoch) {
  if (steps() == 0)
    throw error(errc::empty_epoch,
                {.stage = "order",
                 .got = std::to_string(data_->size()) + " records",
                 .needed = "at least " + std::to_string(config_->batch_rows) + " for one batch"});
}

batch_line order_lines::line(std::uint64_t step) const {
  batch_line line{.epoch = order_.epoch(), .step = step};
  auto begin = step * config_->batch_rows;
  auto end = std::min(begin + config_->batch_rows, order_.positions());
  for (auto position = begin; position < end; ++position) {
    line.positions.push_back(position);
    data_->append_id(order_.record(position), line.ids.emplace_back());
    line.digest += row_digest(line.epoch, position, line.ids.back());
  }
  return line;
}

} // namespace leat::command
