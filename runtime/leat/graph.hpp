#pragma once

#include <leat/export.hpp>
#include <leat/order.hpp>
#include <leat/pipeline.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace leat {

/// An operator at work in a round's iterator, which runs in the workers, lane by lane and in order.
struct plan_step {
  /// As in the text form, without default values: "shuffle_buffer(1000)".
  std::string call;
  /// Steps of the same iterator whose items it takes, in the order of its inputs.
  std::vector<std::size_t> inputs = {};
  /// Rounds whose items it takes instead, because it probes their content.
  std::vector<std::size_t> rounds = {};
  /// Anything else worth saying: "24 units".
  std::string note = {};
  /// What it keeps in each lane: "up to 42 items"; empty for nothing.
  std::string state = {};
  /// Bytes of that state per lane in a snapshot, for items of usual sizes. Empty if that depends on
  /// content, or on a function of the user.
  std::optional<std::uint64_t> state_bytes = {};
};

/// An iterator, with what workers do for its items.
struct plan_round {
  /// In data order; the last one gives the round's items.
  std::vector<plan_step> iterator = {};
  /// What workers do for every item, in data order: "read lines", "map pad@1", "probe for pack".
  std::vector<std::string> function = {};
};

/// Where the work on a row is done that a helper makes (loader_options::workers_at). Order, batches
/// and snapshots stay in the rank.
struct plan_cut {
  /// What helpers are sent of a row: "items", which one it is; "records", also its records.
  std::string sent;
  /// In data order over all rounds, as plan_round::function has it.
  std::vector<std::string> by_helper = {};
  std::vector<std::string> by_rank = {};
};

/// Where each part of a pipeline runs and what it keeps: a plain value, to be drawn or checked.
struct LEAT_API plan_graph {
  /// In data order. The last one feeds the batch.
  std::vector<plan_round> rounds = {};
  /// The call of batch().
  std::string batch;
  epoch_facts epoch = {};
  /// Sources that exist once and have no journal: because of them snapshots are refused.
  std::vector<std::string> unkept = {};
  /// Names of its feeds, which other processes read and serve to all ranks.
  std::vector<std::string> feeds = {};
  /// Which source keeps the lanes, and so the ranks, below what the others would allow, and what to
  /// write so that it does not; empty if none does.
  std::optional<std::string> lane_limit = {};
  /// First that of helpers that have the data, then that of others; empty if rows are not lent.
  std::vector<plan_cut> cuts = {};
  /// Why rows are not lent to helpers; empty if they are.
  std::string not_lent = {};

  /// The order is indexed: there are no iterators, and lanes have no state.
  bool is_indexed() const noexcept { return epoch.is_indexed; }
  /// Bytes of state per lane, over all rounds, as far as they are known.
  std::uint64_t lane_bytes() const noexcept;
  /// Operators whose state has an unknown size.
  std::vector<std::string> of_unknown_size() const;
};

/// Opens the data, but reads no sample. `device`, `decoder`: as a loader takes them
/// (loader_options); maps that make images then say where they are decoded, and if that is not on
/// the device, why. `lend`: as helper_access has it. Throws everything that is wrong with the
/// pipeline; `errc::device` if a device has to decode, and cannot.
LEAT_API plan_graph graph_of(const pipeline& x, const std::string& device = "cpu",
                             const std::string& decoder = "auto", const std::string& lend = "auto");

} // namespace leat
