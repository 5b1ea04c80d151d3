#include "runtime/rows/job_metrics.hpp"

#include "runtime/base/trace.hpp"

#include <leat/trace.hpp>

#include <utility>

namespace leat {

namespace {

// The order of the tracks in a group.
constexpr std::uint32_t trainer_track = 1;
constexpr std::uint32_t dealer_track = 2;
constexpr std::uint32_t saves_track = 3;
constexpr std::uint32_t copies_track = 4;
constexpr std::uint32_t first_slot_track = 10;
constexpr std::uint32_t first_worker_track = 100'000;

/// Shorter spans are left out of a trace: with trivial samples there are a million per second.
constexpr std::int64_t shortest_shown_ns = 10'000;

std::chrono::nanoseconds between(std::int64_t begin_ns, std::int64_t end_ns) noexcept {
  return std::chrono::nanoseconds{end_ns - begin_ns};
}

} // namespace

void slot_life::count_in(job_metrics& metrics, std::size_t number) noexcept {
  metrics_ = &metrics;
  number_ = number;
  phase_ = slot_phase::free;
  since_ns_ = steady_ns();
  metrics_->slots[static_cast<std::size_t>(phase_)].add(1);
}

void slot_life::count_out() noexcept {
  if (auto* metrics = std::exchange(metrics_, nullptr))
    metrics->slots[static_cast<std::size_t>(phase_)].subtract(1);
}

void slot_life::turn(slot_phase to, bool is_batch, std::uint64_t epoch,
                     std::uint64_t step) noexcept {
  if (!metrics_ || phase_ == to)
    return;
  const auto was = std::exchange(phase_, to);
  const auto since = std::exchange(since_ns_, steady_ns());
  metrics_->slots[static_cast<std::size_t>(was)].subtract(1);
  metrics_->slots[static_cast<std::size_t>(to)].add(1);
  if (!is_batch)
    return;
  if (was == slot_phase::ready)
    metrics_->ages.add(between(since, since_ns_));
  metrics_->show_slot(number_, was, since, since_ns_, epoch, step);
}

void job_metrics::show_in(std::shared_ptr<trace> to, const std::string& name,
                          const std::vector<std::string>& stages) {
  trace_ = std::move(to);
  auto& recorder = recorder_of(*trace_);
  const auto process = recorder.add_process(name);
  shown_ = {.recorder = &recorder,
            .process = process,
            .trainer = &recorder.track(process, trainer_track, "trainer"),
            .row_assignment = &recorder.track(process, dealer_track, "dispatcher"),
            .saves = &recorder.track(process, saves_track, "snapshots"),
            .wait = recorder.name("wait for a batch", {"epoch", "step"}),
            .deal = recorder.name("dealing", {}, true),
            .save = recorder.name("snapshot", {"bytes"}),
            .copy = recorder.name("copies to the device", {"epoch", "step", "bytes"}),
            .phases = {0, recorder.name("making", {"epoch", "step"}),
                       recorder.name("ready", {"epoch", "step"}),
                       recorder.name("with the trainer", {"epoch", "step"})}};
  auto& rows = shown_.rows;
  rows.rows = recorder.name("rows", {"epoch", "step", "rows"});
  rows.row = recorder.name("row", {"epoch", "position"}, true);
  rows.turn = recorder.name("turn of a lane", {"lane"}, true);
  for (const auto& x : stages)
    rows.stages.push_back(recorder.name(x, {}, true));
}

row_tracing job_metrics::tracing_of(std::size_t worker) {
  if (!shown_.recorder)
    return {};
  auto result = shown_.rows;
  result.track = &shown_.recorder->track(shown_.process,
                                         first_worker_track + static_cast<std::uint32_t>(worker),
                                         "worker " + std::to_string(worker));
  return result;
}

void job_metrics::waited(std::int64_t begin_ns, std::int64_t end_ns, std::uint64_t epoch,
                         std::uint64_t step) {
  waits.add(between(begin_ns, end_ns));
  if (shown_.trainer && end_ns - begin_ns >= shortest_shown_ns)
    shown_.trainer->add(shown_.wait, begin_ns, end_ns, {epoch, step});
}

void job_metrics::dealt(std::int64_t begin_ns, std::int64_t end_ns) noexcept {
  if (shown_.row_assignment && end_ns - begin_ns >= shortest_shown_ns)
    shown_.row_assignment->add(shown_.deal, begin_ns, end_ns);
}

void job_metrics::copied(std::int64_t begin_ns, std::int64_t end_ns, std::uint64_t epoch,
                         std::uint64_t step, std::uint64_t bytes) noexcept {
  device.bytes.add(bytes);
  device.batches.add(1);
  if (!shown_.recorder)
    return;
  try {
    shown_.recorder->track(shown_.process, copies_track, "copies to the device")
        .add(shown_.copy, begin_ns, end_ns, {epoch, step, bytes});
  } catch (...) { // no memory for a track
  }
}

void job_metrics::saved(std::int64_t begin_ns, std::int64_t end_ns, std::uint64_t bytes) {
  snapshot_bytes.set(bytes);
  if (shown_.saves)
    shown_.saves->add(shown_.save, begin_ns, end_ns, {bytes});
}

job_metrics::mixed job_metrics::mixes() const {
  const mutex_lock lock{mixes_mutex_};
  return mixes_;
}

void job_metrics::set_mixes(const mixed& x) {
  const mutex_lock lock{mixes_mutex_};
  mixes_ = x;
}

void job_metrics::show_slot(std::size_t number, slot_phase was, std::int64_t begin_ns,
                            std::int64_t end_ns, std::uint64_t epoch, std::uint64_t step) noexcept {
  if (!shown_.recorder || was == slot_phase::free || end_ns - begin_ns < shortest_shown_ns)
    return;
  try {
    shown_.recorder
        ->track(shown_.process, first_slot_track + static_cast<std::uint32_t>(number),
                "batch slot " + std::to_string(number))
        .add(shown_.phases[static_cast<std::size_t>(was)], begin_ns, end_ns, {epoch, step});
  } catch (...) { // no memory for a track
  }
}

} // namespace leat
