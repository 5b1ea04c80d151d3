#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/xxh3.hpp"
#include "runtime/snapshot/snapshot.hpp"
#include "runtime/snapshot/snapshot_store.hpp"

#include <leat/notice.hpp>
#include <leat/own_loader.hpp>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

namespace leat {

namespace {

/// Describes a user's own loader as a pipeline of one operator, so that its snapshots are compared,
/// merged and inspected like all others.
pipeline_facts facts_of(const std::string& name, std::uint64_t world_size) {
  hash_stream hash;
  hash.add(name);
  operator_facts loader{.op = "own_loader",
                        .options = {{"name", name}},
                        .data = source_facts{.digest = hash.digest128()}};
  operator_facts batch{.op = "batch",
                       .options = {{"rows", std::uint64_t{1}},
                                   {"lanes", std::uint64_t{0}},
                                   {"end", std::string{"drop"}},
                                   {"fields", std::vector<std::string>{}}},
                       .inputs = {std::move(loader)}};
  return {std::move(batch), world_size, true};
}

lane_states lanes_of(const own_loader_place& at, std::uint64_t rank) {
  if (!at.saved)
    return {};
  auto base = std::make_shared<lane_base>();
  base->when = {at.epoch, 0};
  base->given = at.step;
  base->state.add(std::string_view{*at.saved});
  return {{rank, {std::move(base), {at.epoch, 0}, at.step}}};
}

own_loader_place place_of(const snapshot& x, std::uint64_t rank) {
  own_loader_place at{x.epoch, x.step, x.global_step};
  const auto lane = std::find_if(x.lanes.begin(), x.lanes.end(),
                                 [&](const lane_state& s) { return s.lane == rank; });
  if (lane == x.lanes.end())
    return at;
  if (!lane->mark.base)
    own_loader_snapshots::refuse("restore", "a state without a base", "one of an own loader");
  item_reader reader{lane->mark.base->state};
  at.saved = std::string{reader.text()};
  return at;
}

snapshot snapshot_of(const std::string& name, const own_loader_options& who,
                     const own_loader_place& at) {
  snapshot x;
  x.pipeline = facts_of(name, who.world_size);
  x.epoch = at.epoch;
  x.step = at.step;
  x.global_step = at.global_step;
  x.rank = who.rank;
  x.world_size = who.world_size;
  x.lanes = lanes_of(at, who.rank);
  return x;
}

own_loader_place merged_place(const std::vector<snapshot>& parts, const std::string& name,
                              const own_loader_options& who) {
  const auto merged = merge(parts, false);
  check(merged, facts_of(name, merged.world_size), {});
  if (merged.world_size != who.world_size)
    throw_error(errc::mismatch, "own_loader",
                "a snapshot of " + std::to_string(merged.world_size) + " ranks, to be restored on "
                    + std::to_string(who.world_size),
                "the same number");
  if (std::none_of(parts.begin(), parts.end(),
                   [&](const snapshot& x) { return x.rank == who.rank; }))
    throw_error(errc::bad_snapshot, "own_loader", "no part of rank " + std::to_string(who.rank),
                "that rank's own part");
  return place_of(merged, who.rank);
}

} // namespace

own_loader_snapshots::own_loader_snapshots(std::string name, const own_loader_options& options)
    : name_(std::move(name)), options_(options) {
  if (name_.empty())
    refuse("own_loader", "no name", "a name, as \"photos@1\"");
  if (options.rank >= options.world_size)
    refuse("own_loader.rank", std::to_string(options.rank),
           "below the world size of " + std::to_string(options.world_size));
  if (options.keep == 0)
    refuse("own_loader.keep", "0", "at least 1");
}

void own_loader_snapshots::refuse(const char* stage, std::string got, std::string needed) {
  refuse_argument(stage, std::move(got), std::move(needed));
}

std::string own_loader_snapshots::encode(const own_loader_place& at) const {
  return leat::encode(snapshot_of(name_, options_, at));
}

own_loader_place own_loader_snapshots::decode(const std::vector<std::string>& parts) const {
  std::vector<snapshot> decoded;
  decoded.reserve(parts.size());
  for (const auto& x : parts)
    decoded.push_back(leat::decode(x, "part"));
  return merged_place(decoded, name_, options_);
}

void own_loader_snapshots::save(const std::string& directory, const own_loader_place& at) const {
  snapshot_store{directory}.save(snapshot_of(name_, options_, at), options_.keep);
}

std::optional<own_loader_place> own_loader_snapshots::newest(const std::string& directory) const {
  const auto found = snapshot_store{directory}.newest();
  for (const auto& text : found.skipped)
    notice("snapshot: " + directory + ": skipped " + text);
  if (!found)
    return std::nullopt;
  return merged_place(found.parts, name_, options_);
}

} // namespace leat
