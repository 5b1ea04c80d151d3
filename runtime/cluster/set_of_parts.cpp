#include "runtime/cluster/set_of_parts.hpp"

#include "runtime/snapshot/snapshot.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

bool contains(const std::vector<job_position>& all, const job_position& x) {
  return std::find(all.begin(), all.end(), x) != all.end();
}

} // namespace

std::optional<job_position>
set_of_parts::newest_of(const kept_parts& x, const std::optional<job_position>& stored) const {
  std::optional<job_position> newest;
  for (const auto& place : *x.saved)
    if ((!stored || place > *stored) && (!given_up_ || place > *given_up_))
      newest = std::max(newest, std::optional{place});
  return newest;
}

bool set_of_parts::is_lost(const kept_parts& x) const {
  return x.saves_from > *target_ && !has_[x.rank] && !contains(*x.saved, *target_);
}

bool set_of_parts::choose(const std::vector<kept_parts>& ranks,
                          const std::optional<job_position>& stored) {
  const auto before = target_;
  if (target_ && std::any_of(ranks.begin(), ranks.end(), [&](auto& x) { return is_lost(x); }))
    end_target();
  std::optional<job_position> newest; // no rank can have dropped that
  std::optional<job_position> awaited;
  for (const auto& x : ranks) {
    const auto place = newest_of(x, stored);
    newest = std::max(newest, place);
    if (x.waits && place)
      awaited = std::min(awaited.value_or(*place), *place);
  }
  if (target_ && awaited && *awaited < *target_)
    restart(); // a rank that waits saves no part of a newer set before
  if (!target_)
    target_ = awaited ? awaited : newest;
  return target_ != before;
}

std::optional<std::uint64_t> set_of_parts::needed_of(std::uint64_t rank) {
  if (!target_ || rank >= has_.size() || has_[rank])
    return std::nullopt;
  auto found = under_way_.find(rank);
  if (found == under_way_.end()) {
    if (under_way_.size() >= most_under_way_)
      return std::nullopt;
    found = under_way_.emplace(rank, std::string{}).first;
  }
  return found->second.size();
}

std::optional<std::uint64_t> set_of_parts::next_to_ask() {
  if (!target_ || under_way_.size() >= most_under_way_)
    return std::nullopt;
  while (next_ < has_.size() && (has_[next_] || under_way_.contains(next_)))
    ++next_;
  return next_ < has_.size() ? std::optional{next_++} : std::nullopt;
}

std::optional<std::string> set_of_parts::add(const cluster_part& piece) {
  const auto found = under_way_.find(piece.rank);
  if (!target_ || piece.at != *target_ || found == under_way_.end())
    return std::nullopt;
  auto& part = found->second;
  const bool fits =
      piece.offset == part.size() && piece.total_bytes <= max_snapshot_bytes
      && piece.bytes.size() <= most_piece_bytes
      && piece.bytes.size()
             <= piece.total_bytes - std::min<std::uint64_t>(piece.total_bytes, piece.offset);
  if (!fits)
    return std::nullopt;
  part += piece.bytes;
  if (part.size() < piece.total_bytes)
    return std::nullopt;
  auto whole = std::move(part);
  under_way_.erase(found);
  has_[piece.rank] = true;
  ++number_;
  return whole;
}

void set_of_parts::restart() {
  target_.reset();
  clear();
}

void set_of_parts::end_target() {
  given_up_ = target_;
  restart();
}

void set_of_parts::clear() {
  has_.assign(has_.size(), false);
  number_ = next_ = 0;
  under_way_.clear();
}

} // namespace leat
