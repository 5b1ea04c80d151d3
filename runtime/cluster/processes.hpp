#pragma once

#include "messages/cluster/beat.hpp"
#include "messages/cluster/hello.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace leat {

/// A connection, as its owner numbers it. A process may have several, one after the other.
using source_id = std::uint64_t;

/// A process that has said who it is, on one connection.
struct cluster_process {
  using time = std::chrono::nanoseconds;

  source_id connection = 0;
  /// Without what is large and the same for all processes with this work, and without the token.
  cluster_hello hello = {};
  hash128 work = {};
  /// The whole hello of one process with this work. Not null.
  std::shared_ptr<const cluster_hello> example = {};
  /// The newest one; its number is 0 before the first.
  cluster_beat beat = {};
  time heard{0};
  /// When the process, in its present incarnation, said that it wants a seat.
  time wants_since{0};
  bool is_closed = false;
  /// Why it cannot take part; empty: it can.
  std::string refused = {};

  /// As it has said on this connection.
  const incarnation& who() const noexcept { return beat.number > 0 ? beat.who : hello.who; }
  bool wants_seat() const noexcept {
    return beat.number > 0 && beat.term == 0 && !beat.is_leaving && refused.empty();
  }
};

/// What all incarnations of a process have in common.
using process_number = std::pair<std::uint64_t, std::uint64_t>;
inline process_number number_of(const incarnation& x) noexcept {
  return {x.high, x.low};
}

/// Names a host whose processes can look at each other.
using host_key = std::array<std::uint64_t, 3>;
inline host_key host_of(const process_identity& x) noexcept {
  return {x.boot.high, x.boot.low, x.pid_namespace};
}

/// The processes of a cluster by their connections, of which the newest counts.
class cluster_processes {
public:
  using time = std::chrono::nanoseconds;

  /// Takes the place of the process's earlier connections.
  cluster_process& add(source_id from, const cluster_hello& x, time now);
  /// Null for a connection that has said nothing yet.
  cluster_process* find(source_id from);
  /// By its 128 bits, in whatever incarnation.
  const cluster_process* find(const incarnation& who) const;
  void forget(source_id x);
  /// Forgets those for which `is_useless` is true.
  template <class IsUseless>
  void forget(IsUseless is_useless) {
    for (auto x = all_.begin(); x != all_.end();)
      x = is_useless(x->second) ? remove(x) : std::next(x);
  }

  const std::map<source_id, cluster_process>& all() const noexcept { return all_; }
  std::map<source_id, cluster_process>& all() noexcept { return all_; }

private:
  using table = std::map<source_id, cluster_process>;

  table::iterator remove(table::iterator x);

  std::shared_ptr<const cluster_hello> example_of(const hash128& work, const cluster_hello& x);

  table all_;
  /// The newest connection of a process.
  std::map<process_number, source_id> newest_ = {};
  /// By work: thousands of ranks send the same pipeline, which may be large.
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::weak_ptr<const cluster_hello>> examples_ =
      {};
};

/// The options that must be the same in all processes of a job, and their rules, by name.
std::map<std::string, std::string> comparable(const cluster_hello& x);
/// All that must be the same, as one number: equal where nothing differs.
hash128 work_of(const cluster_hello& x);
/// What of that differs between two processes, one text per difference.
std::vector<std::string> differences(const cluster_hello& first, const cluster_hello& x);

} // namespace leat
