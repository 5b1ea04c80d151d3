#include "actors/loader_statistics.hpp"

#include "runtime/base/metrics.hpp"
#include "runtime/image/late_image.hpp"
#include "runtime/rows/device/device_decoding.hpp"
#include "runtime/storage/remote/transfer_counts.hpp"
#include "runtime/storage/remote/transfer_pool.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace leat {

namespace {

using std::chrono::nanoseconds;

stage_stats::kind kind_of(std::size_t i, const std::vector<std::string>& stages,
                          std::size_t num_sources) {
  if (i == stages.size())
    return stage_stats::kind::writing;
  if (i < num_sources)
    return stage_stats::kind::reading;
  return makes_image(stages[i]) ? stage_stats::kind::decoding : stage_stats::kind::function;
}

duration_stats stats_of(const histogram& x) {
  const auto seen = x.read();
  return {seen.count, seen.sum, seen.at_most(0.5), seen.at_most(0.99)};
}

std::optional<decoder_stats> stats_of(const device_decoding* x) {
  if (!x)
    return std::nullopt;
  decoder_stats result{.by = x->by == decoded_by::nvjpeg ? "nvjpeg" : "device",
                       .images = x->decoded.get(),
                       .groups = x->groups.get(),
                       .bytes = x->bytes.get(),
                       .prepared = x->prepared.get(),
                       .waited = x->waited.get()};
  for (std::size_t i = 0; i < num_cpu_reasons; ++i)
    if (const auto n = x->on_cpu[i].get(); n > 0)
      result.on_cpu.emplace_back(to_string(static_cast<cpu_reason>(i)), n);
  return result;
}

std::optional<remote_stats> stats_of(transfer_counts& x) {
  if (x.requests == 0)
    return std::nullopt;
  const auto now = steady_ns();
  return remote_stats{.bytes_received = x.bytes,
                      .requests = x.requests,
                      .in_flight = x.in_flight,
                      .retries = x.retries,
                      .hedges = x.hedges,
                      .hedges_won = x.hedges_won,
                      .throttled = x.throttled,
                      .cache_hits = process_transfers().cached().hits,
                      .waited = x.waiting.until(now),
                      .budget_waits = x.budget_waits,
                      .without_budget = x.without_budget.until(now),
                      .queued = x.queued.until(now),
                      .requesting = nanoseconds{x.requesting.load()},
                      .answering = nanoseconds{x.answering.load()}};
}

} // namespace

loader_stats stats_of(const job_metrics& metrics, const worker_crew& crew,
                      const sample_graph& samples) {
  const auto& stages = samples.stage_names;
  loader_stats result;
  for (std::size_t i = 0; i <= stages.size(); ++i)
    result.stages.push_back({i < stages.size() ? stages[i] : "writing rows",
                             kind_of(i, stages, samples.num_sources), nanoseconds{0}});
  for (const auto& x : crew.board().sums()) {
    result.workers.push_back(
        {result.workers.size(), x.rows_dealt, x.rows_done, x.busy, x.bytes_read});
    result.bytes_read += x.bytes_read;
    result.iterating += x.iterating;
    result.packed.elements += x.elements_packed;
    result.packed.padding += x.elements_padded;
    for (std::size_t i = 0; i < x.stages.size() && i < result.stages.size(); ++i)
      result.stages[i].time += x.stages[i];
  }
  result.batches = metrics.batches.get();
  result.samples = metrics.samples.get();
  result.waits = stats_of(metrics.waits);
  result.waited = result.waits.sum;
  result.ready_for = stats_of(metrics.ages);
  const auto slots = [&](slot_phase x) { return metrics.slots[static_cast<std::size_t>(x)].get(); };
  result.slots = {slots(slot_phase::free), slots(slot_phase::making), slots(slot_phase::ready),
                  slots(slot_phase::leased)};
  if (metrics.device.batches.get() > 0)
    result.device = {metrics.device.bytes.get(), metrics.device.batches.get(),
                     metrics.device.waits.get(), metrics.device.pinned.get() != 0,
                     stats_of(crew.device())};
  result.remote = stats_of(process_counts());
  for (std::size_t i = 0; i < num_causes; ++i)
    result.bad[i] = metrics.bad[i].get();
  result.workers_now = metrics.workers.get();
  result.workers_replaced = crew.replaced();
  result.snapshot_bytes = metrics.snapshot_bytes.get();
  return result;
}

} // namespace leat
