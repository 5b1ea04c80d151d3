#include "runtime/job/epoch_end_agreement.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <leat/error.hpp>

#include <algorithm>
#include <string>
#include <utility>

namespace leat {

epoch_end_agreement::epoch_end_agreement(const epoch_geometry& shape, std::uint64_t world_size,
                                         all_gather ask)
    : end_rule_(shape.end), world_size_(world_size),
      is_needed_(!shape.is_indexed && !shape.is_endless() && world_size > 1), ask_(std::move(ask)) {
}

epoch_end_agreement::epoch_end_agreement(const epoch_geometry& shape, std::uint64_t world_size,
                                         std::shared_ptr<job_peers> peers)
    : epoch_end_agreement(shape, world_size, all_gather{}) {
  peers_ = std::move(peers);
}

bool epoch_end_agreement::settle(const batch_plan& x, const job_progress& now) {
  if (!is_needed_)
    return x.end_of_epoch;
  const bool has_failed = x.what == batch_plan::kind::failed;
  const auto step = now.next.step; // a failure may be of no batch
  if (peers_ && has_failed)
    return false; // others hear of it, wherever they are
  if (peers_ && !agreed_.is_final && step + 1 >= agreed_.batches)
    agreed_ = peers_->wait_for_end(x.epoch, step);
  else if (!agreed_.is_final && step + 1 >= agreed_.batches)
    ask({static_cast<std::int64_t>(x.horizon.batches), x.horizon.is_final ? 1 : 0,
         has_failed ? 1 : 0});
  if (has_failed)
    return false;
  if (agreed_.is_final && step >= agreed_.batches)
    throw_error(errc::empty_epoch, "batch",
                "no batch in epoch " + std::to_string(x.epoch) + " that all ranks could fill",
                "at least one");
  return agreed_.is_final && step + 1 == agreed_.batches;
}

void epoch_end_agreement::ask(const epoch_agreement& mine) {
  std::vector<epoch_agreement> all;
  try {
    all = ask_(mine);
  } catch (...) {
    if (mine.has_failed != 0)
      return; // what it failed of says more
    throw error_in_flight(errc::worker_lost, {.stage = "loader.agree"});
  }
  if (all.size() != world_size_)
    refuse_argument("loader.agree", std::to_string(all.size()) + " answers",
                    "one from each of " + std::to_string(world_size_) + " ranks");
  const auto failed =
      std::find_if(all.begin(), all.end(), [](const auto& x) { return x.has_failed != 0; });
  if (mine.has_failed == 0 && failed != all.end())
    throw_error(errc::worker_lost, "agree",
                "rank " + std::to_string(failed - all.begin()) + ", which has failed",
                "all ranks running");
  decide(all);
}

void epoch_end_agreement::decide(const std::vector<epoch_agreement>& all) {
  const auto by_batches = [](const auto& a, const auto& b) { return a.batches < b.batches; };
  const bool is_drop = end_rule_ == epoch_end::drop;
  const auto end = is_drop ? std::min_element(all.begin(), all.end(), by_batches)
                           : std::max_element(all.begin(), all.end(), by_batches);
  agreed_.batches = static_cast<std::uint64_t>(end->batches);
  // drop: one rank that has no more ends the epoch for all; mask: all must have no more.
  const auto ends_here = [&](const auto& x) {
    return x.is_final != 0 && x.batches == end->batches;
  };
  agreed_.is_final =
      is_drop ? std::any_of(all.begin(), all.end(), ends_here)
              : std::all_of(all.begin(), all.end(), [](const auto& x) { return x.is_final != 0; });
}

} // namespace leat
