#include "runtime/lending/lender_state.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

constexpr std::size_t turns_kept = 33;

/// So that one row that is unlike the others does not change much.
std::int64_t smoothed(std::int64_t before, std::int64_t now) noexcept {
  return before == 0 ? now : (7 * before + now) / 8;
}

std::int64_t median(const std::deque<std::int64_t>& x) {
  std::vector<std::int64_t> sorted{x.begin(), x.end()};
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  return *middle;
}

} // namespace

void lender_state::join(std::uint64_t link, std::int64_t window, std::size_t cores,
                        std::int64_t now) {
  auto& x = helpers_[link];
  x.window = window;
  x.cores = std::max<std::size_t>(cores, 1);
  x.heard = now;
}

void lender_state::heard(std::uint64_t link, std::int64_t now) {
  if (const auto found = helpers_.find(link); found != helpers_.end()) {
    found->second.heard = now;
    found->second.is_silent = false;
  }
}

void lender_state::pause(std::uint64_t link, bool is_paused) {
  if (const auto found = helpers_.find(link); found != helpers_.end())
    found->second.is_paused = is_paused;
}

void lender_state::lost(std::uint64_t link) {
  if (helpers_.erase(link) == 0)
    return;
  for (auto x = offers_.begin(); x != offers_.end();) {
    const auto next = std::next(x);
    if (x->second.link == link) {
      const auto rows = std::move(x->second.rows);
      used_ -= x->second.bytes_per_row * static_cast<std::int64_t>(x->second.left);
      offers_.erase(x);
      for (const auto row : rows)
        if (row != 0)
          rows_.leave(row, lent_rows::left::lost);
    }
    x = next;
  }
}

lender_state::helper* lender_state::next_helper(std::uint64_t& link) {
  helper* best = nullptr;
  for (auto& [number, x] : helpers_) {
    if (x.is_silent || x.is_paused || x.offers >= settings_.offers_per_core * x.cores)
      continue;
    if (x.used > 0 && x.used + row_bytes_ > x.window)
      continue;
    if (!best || x.offers * best->cores < best->offers * x.cores) {
      best = &x;
      link = number;
    }
  }
  return best;
}

/// As many as one core makes in the time of an offer, as fit into the window and the budget, and as
/// leave something for the others.
std::size_t lender_state::rows_for(const helper& x, std::size_t available) const {
  std::size_t cores = 1;
  for (const auto& [number, each] : helpers_)
    cores += each.cores;
  auto n = x.row_time == 0 ? std::int64_t{1}
                           : settings_.offer_time / std::max<std::int64_t>(x.row_time, 1);
  n = std::min(n, settings_.most_offer_bytes / row_bytes_);
  n = std::min(n, static_cast<std::int64_t>(available / cores));
  n = std::max<std::int64_t>(n, 1);
  if (x.used > 0) // the first is always let through
    n = std::min(n, (x.window - x.used) / row_bytes_);
  if (used_ > 0)
    n = std::min(n, (settings_.budget - used_) / row_bytes_);
  constexpr std::int64_t most = 1024;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(n, 0, most));
}

std::optional<lender_state::offer> lender_state::next_offer(std::int64_t now) {
  const auto available = rows_.num_available();
  offer made;
  auto* const to = available > 0 ? next_helper(made.link) : nullptr;
  const auto n = to ? rows_for(*to, available) : 0;
  auto rows = n > 0 ? rows_.claim(made.link, n) : std::vector<std::uint64_t>{};
  if (rows.empty())
    return std::nullopt;
  made.number = ++last_offer_;
  for (const auto row : rows)
    made.rows.push_back(rows_.place(row));
  const auto size = rows.size();
  const auto bytes = row_bytes_ * static_cast<std::int64_t>(size);
  to->used += bytes;
  ++to->offers;
  used_ += bytes;
  counts_.rows_lent += size;
  offers_[made.number] = {made.link, now, std::move(rows), size, row_bytes_, false};
  return made;
}

std::uint64_t lender_state::take(std::uint64_t link, std::uint64_t offer, std::size_t index) {
  const auto found = offers_.find(offer);
  if (found == offers_.end() || found->second.link != link || index >= found->second.rows.size())
    return 0;
  auto& x = found->second;
  const auto row = std::exchange(x.rows[index], 0);
  if (row == 0)
    return 0;
  --x.left;
  used_ -= x.bytes_per_row;
  auto& from = helpers_.at(link);
  from.used -= x.bytes_per_row;
  if (x.left == 0) {
    --from.offers;
    offers_.erase(found);
  }
  return row;
}

std::optional<row_place> lender_state::answered(std::uint64_t link, std::uint64_t offer,
                                                std::size_t index, const row_cost& cost,
                                                std::int64_t now) {
  const auto found = offers_.find(offer);
  const auto since = found == offers_.end() ? now : found->second.since;
  const auto size = found == offers_.end() ? 1 : found->second.rows.size();
  const auto id = take(link, offer, index);
  if (id == 0)
    return std::nullopt;
  auto& from = helpers_.at(link);
  from.row_time = smoothed(from.row_time, std::max<std::int64_t>(cost.time, 1));
  row_bytes_ = std::max<std::int64_t>(smoothed(row_bytes_, cost.bytes), 1);
  turns_.push_back((now - since) / static_cast<std::int64_t>(size));
  if (turns_.size() > turns_kept)
    turns_.pop_front();
  auto row = rows_.take(id);
  counts_.rows_received += row ? 1 : 0;
  return row;
}

void lender_state::put_back(const row_place& row) {
  --counts_.rows_received;
  rows_.put_back(row);
}

void lender_state::declined(std::uint64_t link, std::uint64_t offer, std::size_t index) {
  const auto row = take(link, offer, index);
  if (row == 0)
    return;
  ++counts_.rows_declined;
  rows_.leave(row, lent_rows::left::declined);
}

std::int64_t lender_state::late_after(const open_offer& x) const {
  const auto turn = turns_.empty() ? settings_.offer_time : median(turns_);
  return settings_.patience + 3 * turn * static_cast<std::int64_t>(x.rows.size());
}

std::vector<std::uint64_t> lender_state::tick(std::int64_t now) {
  std::vector<std::uint64_t> dead;
  for (auto& [number, x] : helpers_) {
    x.is_silent = now - x.heard >= settings_.silent_after;
    if (now - x.heard >= settings_.dead_after)
      dead.push_back(number);
  }
  for (auto& [number, x] : offers_) {
    if (x.is_late || (!helpers_.at(x.link).is_silent && now - x.since < late_after(x)))
      continue;
    x.is_late = true;
    for (const auto row : x.rows)
      if (row != 0)
        rows_.is_late(row);
  }
  return dead;
}

std::int64_t lender_state::next_tick(std::int64_t now) const {
  auto at = now + settings_.dead_after;
  for (const auto& [number, x] : helpers_)
    at = std::min(at, x.heard + (x.is_silent ? settings_.dead_after : settings_.silent_after));
  for (const auto& [number, x] : offers_)
    if (!x.is_late)
      at = std::min(at, x.since + late_after(x));
  return std::max(at, now);
}

lender_counts lender_state::counts() const noexcept {
  auto x = counts_;
  x.rows_dealt_again = rows_.num_dealt_again();
  return x;
}

std::int64_t lender_state::bytes_under_way(std::uint64_t link) const noexcept {
  const auto found = helpers_.find(link);
  return found == helpers_.end() ? 0 : found->second.used;
}

} // namespace leat
