#include "actors/loader_checks.hpp"

#include "actors/device/device_engine.hpp"
#include "actors/make_lender.hpp"
#include "runtime/base/limits.hpp"
#include "runtime/base/threads/fork_check.hpp"
#include "runtime/device/cuda/cuda_device.hpp"
#include "runtime/device/device_name.hpp"
#include "runtime/network/address.hpp"

#include <leat/pipeline_facts.hpp>
#include <leat/testing.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace leat {

namespace {

void refuse(const char* field, const std::string& got, const std::string& needed) {
  refuse_argument(std::string{"loader."} + field, got, needed);
}

/// "1, 2, 3, 4, 6, 8, 12 or 24"
std::string divisors_of(std::uint64_t n) {
  std::string text;
  for (std::uint64_t i = 1; i < n; ++i)
    if (n % i == 0)
      text += (text.empty() ? "" : ", ") + std::to_string(i);
  return text + (text.empty() ? "" : " or ") + std::to_string(n);
}

/// CUDA does not start here: the process may still fork.
void check_device(const loader_options& x) {
  const bool is_forced = x.decoder == "device" || x.decoder == "nvjpeg";
  if (!is_forced && x.decoder != "auto" && x.decoder != "cpu")
    refuse("decoder", '"' + x.decoder + '"', "\"auto\", \"cpu\", \"device\" or \"nvjpeg\"");
  if (is_forced && !parse_device(x.device, "loader.device").gpu)
    refuse("decoder", '"' + x.decoder + "\", and the device \"cpu\"", "a device, as \"cuda\"");
  if (!parse_device(x.device, "loader.device").gpu) {
    if (!x.device_fields.empty())
      refuse("device_fields", x.device_fields.front() + ", and the device \"cpu\"",
             "a device, or none");
    return;
  }
  if (x.batch_memory)
    refuse("batch_memory", "memory of the program's own, and the device " + x.device,
           "one of them: what is copied to a device lies in memory that leat has pinned");
  check_cuda_driver();
}

void check_lending(const loader_options& x) {
  constexpr std::array<std::string_view, 4> known{"auto", "items", "records", "none"};
  if (x.helpers && std::find(known.begin(), known.end(), x.helpers->lend) == known.end())
    refuse("helpers.lend", '"' + x.helpers->lend + '"',
           "\"auto\", \"items\", \"records\" or \"none\"");
}

void check_helpers(const loader_options& x) {
  check_lending(x);
  if (!x.feeds_at.empty() && x.feeds_at != any_place)
    (void)parse_address(x.feeds_at, "loader.feeds_at", port_rule::any);
  if (x.workers_at.empty())
    return;
  if (x.workers_at != any_place)
    (void)parse_address(x.workers_at, "loader.workers_at", port_rule::any);
  if (x.workers == 0)
    refuse("workers_at", "helpers, and 0 workers",
           "at least one worker: a job never depends on helpers");
  if (x.dispatch != dispatch_policy::on_demand)
    refuse("workers_at", "helpers, and rows that each have their worker", "on_demand");
  if (x.decoder == "nvjpeg")
    refuse("workers_at", "helpers, and nvJPEG's pixels, which only a GPU makes",
           "another decoder: a row is the same wherever it is made");
}

} // namespace

void check_options(const loader_options& x) {
  if (x.world_size == 0)
    refuse("world_size", "0", "at least 1");
  if (x.rank >= x.world_size)
    refuse("rank", std::to_string(x.rank),
           "below the world size of " + std::to_string(x.world_size));
  if (x.leases == 0)
    refuse("leases", "0", "at least 1");
  if (x.keep == 0)
    refuse("keep", "0", "at least 1");
  if (x.stuck_after.count() < 0)
    refuse("stuck_after", std::to_string(x.stuck_after.count()) + " ms", "0 or more");
  constexpr std::chrono::hours longest{100 * 365 * 24}; // otherwise nanoseconds overflow
  if (x.stuck_after > longest)
    refuse("stuck_after", std::to_string(x.stuck_after.count()) + " ms", "at most 100 years, or 0");
  if (x.workers > most_workers && x.workers != automatic)
    refuse("workers", std::to_string(x.workers),
           "at most " + std::to_string(most_workers) + ", or automatic");
  check_range("loader.world_size", x.world_size, 1, max_world_size);
  check_range("loader.prefetch", x.prefetch, 0, max_batches_ahead);
  check_range("loader.leases", x.leases, 1, max_leases);
  if (x.workers == 0 && x.fault && !x.fault->deaths.empty())
    refuse("fault.deaths", "a death, and 0 workers", "at least one worker");
  check_helpers(x);
  check_device(x);
}

void check_options(const loader_options& x, const job_plan& plan,
                   const std::optional<std::string>& limit) {
  if (parse_device(x.device, "loader.device").gpu && plan.layout)
    (void)plan_device_fields(*plan.layout, 1, x.device_fields);
  const auto& shape = plan.shape;
  if (shape.is_indexed)
    return;
  if (shape.lanes % x.world_size != 0)
    refuse("world_size",
           std::to_string(x.world_size) + " ranks, and " + std::to_string(shape.lanes)
               + " lanes that have a state",
           divisors_of(shape.lanes) + (limit ? ": " + *limit : ""));
  if (x.bad_samples == bad_sample_policy::substitute)
    refuse("bad_samples", "substitute, for an order that is found by reading", "fail or mask");
  if (x.world_size > 1 && !shape.is_endless() && !x.agree && !x.cluster)
    refuse("agree",
           "no all-gather, " + std::to_string(x.world_size) + " ranks and epochs of unknown length",
           "an all-gather, a cluster, or batch with the end \"cycle\"");
}

void check_leases(const loader_options& x, std::size_t leases) {
  if (leases >= x.leases)
    throw error(errc::leases_exhausted,
                {.stage = "next",
                 .got = std::to_string(leases) + " leases that are still held",
                 .needed = "fewer than leases, which is " + std::to_string(x.leases)});
}

void check_resize(const loader_options& x, std::size_t workers) {
  const bool has_none = x.workers == 0;
  if (has_none || workers == 0 || (workers > most_workers && workers != automatic))
    refuse_argument("resize_workers", std::to_string(has_none ? 0 : workers) + " workers",
                    has_none ? std::string{"a loader made with workers"}
                             : "1 to " + std::to_string(most_workers) + ", or automatic");
}

std::string text_of_batch(const lease_desk& desk, const job_progress& after) {
  const auto& its = desk.job();
  return "step " + std::to_string(after.global_step - 1) + " of rank " + std::to_string(its.rank)
         + " of " + std::to_string(its.world_size) + " of " + shape_of(its.facts.root);
}

void refuse_batch(const std::string& stage, const lease_desk& desk, const job_progress& after,
                  const rank_job& mine, bool has_terms) {
  refuse_argument(
      stage,
      std::string{has_terms ? "a batch from before the ranks began anew, or of another loader: "
                            : "a batch of another loader: "}
          + text_of_batch(desk, after),
      std::string{has_terms ? "a batch of the newest term" : "a batch"} + " of this loader of "
          + shape_of(mine.facts.root)
          + "; the other batch can be saved by its own loader, or by its snapshot()");
}

void refuse_child() {
  throw error(errc::forked,
              {.stage = "loader",
               .got = "a call in the child of a fork, which does not have its parent's threads",
               .needed = "loaders made after the fork, by a process whose parent has no loader and "
                         "has called leat's shutdown(); or a process of its own (exec; in Python "
                         "spawn or forkserver)"});
}

void check_process() {
  if (is_maimed_by_fork())
    refuse_child();
}

} // namespace leat
