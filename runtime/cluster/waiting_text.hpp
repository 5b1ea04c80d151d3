#pragma once

#include "runtime/cluster/coordinator_state.hpp"
#include "runtime/cluster/processes.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace leat {

/// "process 4711 of node3", for people.
std::string name_of(const cluster_process& x);

/// "epoch 1 step 20", or "the beginning".
std::string place_text(const std::optional<job_position>& x);

/// Which processes want a seat, by what they would train on, when it was made. It looks at all of
/// them once; then the text for each of them costs little.
class waiting_survey {
public:
  explicit waiting_survey(const cluster_processes& of);

  /// What a process that wants a seat waits for; empty if it wants none.
  std::string text_for(const cluster_process& x, const coordinator_state& state) const;

private:
  struct group {
    /// By rank, or by connection if the coordinator numbers them: who wanted it first.
    std::map<std::uint64_t, source_id> first;
    /// The first few ranks that are not there.
    std::string missing;
  };

  const cluster_processes& processes_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, group> by_work_;
};

} // namespace leat
