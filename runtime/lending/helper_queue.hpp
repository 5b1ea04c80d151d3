#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace leat {

/// Offers that a helper has, of several ranks: its cores take one each, from rank to rank. A plain
/// value of one thread at a time. How much waits here is bounded by the windows that ranks were
/// granted.
class helper_queue {
public:
  struct task {
    std::uint64_t link = 0;
    std::uint64_t offer = 0;
    /// Of the offer.
    std::shared_ptr<const std::vector<char>> bytes = {};
    /// That is granted to the rank once the offer is done with.
    std::int64_t credit = 0;
  };

  void add(task x);
  /// The next offer to be worked on.
  std::optional<task> take();
  /// The task that was taken is done.
  void done(const task& x);
  /// Whether anybody still waits for rows of a task that was taken.
  bool is_wanted(const task& x) const noexcept;

  /// These offers are not needed: those that were not taken are dropped, and returned.
  std::vector<task> cancel(std::uint64_t link, const std::vector<std::uint64_t>& offers);
  /// What came by a link that is lost is nobody's any more.
  void drop(std::uint64_t link);

  std::size_t size() const noexcept;

private:
  struct rank {
    std::deque<task> waiting = {};
    std::set<std::uint64_t> taken = {};
  };

  std::map<std::uint64_t, rank> ranks_;
  /// Whose turn it was last.
  std::uint64_t last_ = 0;
};

} // namespace leat
