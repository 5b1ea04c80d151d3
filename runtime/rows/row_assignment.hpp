#pragma once

#include "messages/chunk.hpp"
#include "runtime/rows/batch_slot.hpp"

#include <leat/dispatch_policy.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace leat {

/// Work in an open slot, without any rows yet.
chunk chunk_of(const std::shared_ptr<batch_slot>& slot);

/// Decides who runs which rows. A plain value: the dispatcher actor sends what it returns.
class row_assignment {
public:
  /// `lanes`: L.
  row_assignment(std::uint64_t lanes, std::uint64_t world_size, dispatch_policy policy)
      : lanes_(lanes), world_size_(world_size), policy_(policy) {}

  /// Whether workers claim rows: for batch_slot::open.
  bool claims() const noexcept { return policy_ == dispatch_policy::on_demand; }

  /// The chunks of an open slot for workers with these ids, one each. Under on_demand workers claim
  /// rows; otherwise rows get their owners here.
  std::vector<chunk> deal(const std::shared_ptr<batch_slot>& slot,
                          const std::vector<std::uint32_t>& workers) const;

private:
  /// Index of the worker that gets a row under a fixed policy.
  std::size_t worker_for(std::size_t row, std::uint64_t position,
                         std::size_t workers) const noexcept;

  std::uint64_t lanes_;
  std::uint64_t world_size_;
  dispatch_policy policy_;
};

} // namespace leat
