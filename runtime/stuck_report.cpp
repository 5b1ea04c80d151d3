#include "runtime/stuck_report.hpp"

namespace leat {

namespace {

error stuck(std::string stage, std::string sample, const std::string& where,
            std::chrono::milliseconds limit) {
  return {errc::stuck,
          {.stage = std::move(stage),
           .sample = std::move(sample),
           .got = "no return " + where,
           .needed = "one within " + std::to_string(limit.count()) + " ms"}};
}

} // namespace

error stuck_row(const row_plan& plan, const worker_record& record, const std::string& where,
                std::chrono::milliseconds limit) {
  const auto stage = record.stage.load();
  const auto position = record.item.load();
  std::string sample;
  if (plan.shape.is_closed) {
    const auto x = plan.shape.item_at(record.epoch.load(), position);
    order_cache orders{plan.samples->num_shuffles};
    plan.samples->items->append_id({.item = x.item, .epoch = x.era}, orders, sample);
  } else {
    sample = "at position " + std::to_string(position);
  }
  return stuck(stage < plan.samples->num_sources ? "read" : plan.samples->stage_names[stage],
               std::move(sample), where, limit);
}

error stuck_call(const call_record::call& x, const std::string& where,
                 std::chrono::milliseconds limit) {
  return stuck(*x.stage, "of lane " + std::to_string(x.lane), where, limit);
}

} // namespace leat
