#include "runtime/rows/stuck_report.hpp"

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

/// The sample's id, or just its position: an id may come from a function of the user, which is
/// stuck already and may throw.
std::string sample_at(const job_plan& plan, std::uint64_t epoch, std::uint64_t position) {
  auto where = "at position " + std::to_string(position);
  if (!plan.shape.is_indexed)
    return where;
  try {
    const auto x = plan.shape.item_at(epoch, position);
    order_cache orders{plan.samples->num_shuffles};
    std::string id;
    plan.samples->items->append_id({.item = x.item, .epoch = x.epoch}, orders, id);
    return id;
  } catch (...) {
    return where;
  }
}

} // namespace

error stuck_row(const job_plan& plan, const worker_record& record, const std::string& where,
                std::chrono::milliseconds limit) {
  const auto stage = record.stage.load();
  return stuck(stage < plan.samples->num_sources ? "read" : plan.samples->stage_names[stage],
               sample_at(plan, record.epoch.load(), record.item.load()), where, limit);
}

error stuck_call(const call_record::call& x, const std::string& where,
                 std::chrono::milliseconds limit) {
  return stuck(*x.stage, "of lane " + std::to_string(x.lane), where, limit);
}

} // namespace leat
