#pragma once

#include "messages/cluster/part.hpp"

#include <leat/job_position.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace leat {

/// What a rank says about the parts that it keeps.
struct kept_parts {
  std::uint64_t rank = 0;
  /// It will save no place before this one any more.
  job_position saves_from;
  const std::vector<job_position>* saved = nullptr;
  /// The trainer waits until the newest of them is stored, or given up.
  bool waits = false;
};

/// Collects the parts of one set at a time, in one term: the newest place that any rank has saved,
/// or the first that a rank waits for, which saves no newer one before. Parts come in pieces, from
/// a bounded number of ranks at a time.
class set_of_parts {
public:
  explicit set_of_parts(std::uint64_t world_size, std::size_t most_under_way = 64)
      : most_under_way_(most_under_way), has_(world_size) {}

  /// The set that is being completed.
  const std::optional<job_position>& target() const noexcept { return target_; }
  /// The newest place that is not collected any more, stored or not.
  const std::optional<job_position>& given_up() const noexcept { return given_up_; }
  /// Chooses a target where there is none, or gives it up if a rank can no longer complete it.
  /// True if the target has changed: what was collected is of no use then.
  bool choose(const std::vector<kept_parts>& ranks, const std::optional<job_position>& stored);
  /// Where the next piece of the rank's part begins; none if none is asked for.
  std::optional<std::uint64_t> needed_of(std::uint64_t rank);
  /// The next rank that was not asked, if one more may be: each is named once per set, so that a
  /// set need not wait for a beat of each rank.
  std::optional<std::uint64_t> next_to_ask();

  /// Takes a piece; one that was not asked for is dropped. Gives the whole part with its last one.
  std::optional<std::string> add(const cluster_part& piece);
  bool is_complete() const noexcept { return target_ && number_ == has_.size(); }

  /// A rank's seat has a new holder: what was collected goes with the old one.
  void restart();
  /// The target is stored, or could not be: it is not tried again.
  void end_target();

private:
  /// The newest place of which the rank keeps a part and that may yet be stored.
  std::optional<job_position> newest_of(const kept_parts& x,
                                        const std::optional<job_position>& stored) const;
  bool is_lost(const kept_parts& x) const;
  void clear();

  std::size_t most_under_way_;
  std::optional<job_position> target_;
  /// Only newer places are tried.
  std::optional<job_position> given_up_;
  /// Which ranks' parts are there, and how many.
  std::vector<bool> has_;
  std::uint64_t number_ = 0;
  /// Ranks before this one have been asked, or named.
  std::uint64_t next_ = 0;
  /// Beginnings of parts.
  std::map<std::uint64_t, std::string> under_way_;
};

} // namespace leat
