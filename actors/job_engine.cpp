#include "actors/job_engine.hpp"

#include "actors/actor_engine.hpp"
#include "actors/device/device_engine.hpp"
#include "actors/inline_engine.hpp"
#include "runtime/device/cuda/cuda_device.hpp"
#include "runtime/device/device_name.hpp"
#include "runtime/rows/device/device_decoding.hpp"

#include <leat/notice.hpp>
#include <leat/trace.hpp>

#include <chrono>
#include <stop_token>
#include <thread>
#include <utility>

namespace leat {

namespace {

/// Null where images are decoded on the processors. Throws `errc::device` where they must not be.
std::shared_ptr<device_decoding> begin_decoding(engine_parts& parts, const device_parts& device,
                                                const loader_options& options) {
  if (options.decoder == "cpu")
    return nullptr;
  auto fields = fields_made_there(*parts.plan, parts.memory.fields);
  const bool is_forced = options.decoder != "auto";
  if (fields.empty()) {
    if (is_forced)
      refuse_argument("loader.decoder", '"' + options.decoder + "\", and no image that goes there",
                      "a map such as train_image, or \"auto\"");
    return nullptr;
  }
  try {
    auto decoding = std::make_shared<device_decoding>(
        device.calls, device.host,
        device_decoding::scratch_for(
            options.workers == automatic ? std::thread::hardware_concurrency() : options.workers),
        parts.plan->hash_pixels, is_forced,
        options.decoder == "nvjpeg" ? decoded_by::nvjpeg : decoded_by::kernels);
    parts.memory.device = device.calls;
    parts.memory.made_there = std::move(fields);
    return decoding;
  } catch (const error& problem) {
    if (is_forced || problem.code() != errc::device)
      throw;
    notice("loader: JPEGs are decoded on the processors: " + std::string{problem.what()});
    return nullptr;
  }
}

/// Starts CUDA if the options name a device; the engine's memory is then pinned for it.
std::optional<device_parts> begin_device(engine_parts& parts, const loader_options& options) {
  const auto gpu = parse_device(options.device, "loader.device").gpu;
  if (!gpu)
    return std::nullopt;
  const auto calls = open_cuda(*gpu);
  const auto host = std::make_shared<pinned_memory>(calls);
  auto fields = plan_device_fields(*parts.plan->layout, parts.rows, options.device_fields);
  parts.memory = {host, {}};
  for (const auto& x : fields) // others may be copied elsewhere by whoever takes them for unpinned
    parts.memory.fields.push_back(x.dense_bytes > 0);
  parts.is_for_trainer = false;
  device_parts device{calls, host, std::move(fields), options.leases};
  parts.crew->decode_on(begin_decoding(parts, device, options));
  return device;
}

} // namespace

job_engine::job_engine(loader_options& options)
    : core_((options.runtime ? options.runtime : options.runtime = runtime::of_process())->core_),
      trace_(options.trace),
      crew_(std::make_shared<worker_crew>(options.rank, options.world_size, options.fault)),
      caller_(options.stuck_after, options.on_stuck),
      saves_(options.workers > 0
                 ? host_function{[core = core_]() -> actor_host& { return core->host(); }}
                 : nullptr,
             metrics_) {
  if (core_->is_shut_down())
    refuse_after_shutdown();
}

/// Writes the rest of a trace, and does not leave that to the trace's last owner: an actor that has
/// ended may hold it a moment longer, and the process may end before that.
job_engine::~job_engine() {
  registration_.leave();
  engine_ = nullptr;
  try {
    if (trace_)
      trace_->flush();
  } catch (...) { // no memory for a text; the file is whole without it
  }
}

void job_engine::join(std::shared_ptr<const job_plan> plan) {
  plan_ = std::move(plan);
  registration_ = runtime_core::add(core_, *this);
}

void job_engine::leave(std::shared_ptr<const void> owner) noexcept {
  registration_.leave(); // also while another thread still looks at it
  if (!owner || !is_abandoned())
    return;
  owner_ = std::move(owner);
  abandoned_before_ = last_abandoned.exchange(this);
}

void job_engine::begin(engine_parts parts, const loader_options& options) {
  const mutex_lock lock{mutex_}; // a runtime that is ending waits for this
  check_runtime();
  const auto plan = parts.plan;
  auto device = begin_device(parts, options);
  std::shared_ptr<batch_engine> makes;
  if (options.workers == 0) {
    makes = std::make_shared<inline_engine>(std::move(parts), caller_);
  } else {
    caller_.look_away();
    auto mine = options;
    mine.workers = number_of(options.workers);
    makes = std::make_shared<actor_engine>(core_->host(), std::move(parts), mine);
  }
  engine_ = device ? std::make_shared<device_engine>(std::move(makes), std::move(*device), plan,
                                                     metrics_, options.workers > 0)
                   : std::move(makes);
}

std::size_t job_engine::number_of(std::size_t workers) {
  automatic_.reset();
  if (workers == automatic)
    workers = automatic_.emplace(core_shares::of_process()).number();
  metrics_->workers.set(workers);
  return workers;
}

void job_engine::resize(std::size_t workers) {
  if (engine_)
    engine_->resize(number_of(workers));
}

void job_engine::tune_workers() {
  if (!automatic_)
    return;
  const auto found = automatic_->after_batch([this] {
    std::chrono::nanoseconds busy{0};
    for (const auto& x : crew_->board().sums())
      busy += x.busy;
    return std::pair{metrics_->waits.sum(), busy};
  });
  if (!found)
    return;
  metrics_->workers.set(*found);
  engine_->resize(*found);
}

void job_engine::check_runtime() const {
  if (is_shut_down_)
    refuse_after_shutdown();
}

void job_engine::interrupt() noexcept {
  plan_->cancelled->store(true);
  for (const auto& x : plan_->samples->feeds)
    x->wake();
  const mutex_lock lock{mutex_};
  if (engine_)
    engine_->interrupt();
}

void job_engine::ask_to_end() noexcept {
  is_shut_down_ = true;
  interrupt();
  std::stop_source{plan_->stop}.request_stop();
}

void job_engine::end() noexcept {
  saves_.end();
  plan_->cancelled->store(true);
  for (const auto& x : plan_->samples->feeds)
    x->wake();
  std::stop_source{plan_->stop}.request_stop();
  std::shared_ptr<batch_engine> engine;
  {
    const mutex_lock lock{mutex_};
    engine = engine_;
  }
  if (engine && !engine->shutdown())
    is_abandoned_ = true;
  caller_.end();
}

} // namespace leat
