#include "runtime/lending/lender_state.hpp"

#include "runtime/lending/lending_messages.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

constexpr std::size_t turns_kept = 33;
constexpr lending_costs::choice every_row;
/// A late row counts as at most so many times what rows take here: so helpers are waited for whose
/// rows take three times that.
constexpr std::int64_t most_late_turns = 2;
/// Offers that one note names.
constexpr std::size_t most_cancelled = 1000;
/// A helper that has made none of so many rows has one row after a while. It is longer each time,
/// from the first to the last.
constexpr std::size_t most_unmade = 8;
constexpr std::int64_t first_rest = 10'000'000;
constexpr std::int64_t last_rest = 10'000'000'000;

/// So that one row that is unlike the others does not change much.
std::int64_t smoothed(std::int64_t before, std::int64_t now) noexcept {
  return before == 0 ? now : (7 * before + now) / 8;
}

std::int64_t late_after(const lender_settings& settings, std::int64_t turn,
                        std::size_t rows) noexcept {
  return settings.patience + 3 * turn * static_cast<std::int64_t>(rows);
}

} // namespace

lender_state::lender_state(const lender_settings& settings)
    : settings_(settings), rows_(settings.most_losses), turns_(turns_kept) {}

void lender_state::join(std::uint64_t link, std::int64_t window, std::size_t cores,
                        std::int64_t now, lent_form form) {
  auto& x = helpers_[link];
  x.window = window;
  x.cores = std::max<std::size_t>(cores, 1);
  x.form = form;
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
      used_ -= x->second.bytes();
      offers_.erase(x);
      for (const auto row : rows)
        if (row != 0)
          rows_.leave(row, lent_rows::left::lost);
    }
    x = next;
  }
}

lender_state::helper* lender_state::next_helper(std::uint64_t& link,
                                                const std::vector<std::uint64_t>& tried,
                                                std::int64_t now) {
  helper* best = nullptr;
  for (auto& [number, x] : helpers_) {
    if (x.is_silent || x.is_paused || x.offers >= settings_.offers_per_core * x.cores
        || now < x.rests_until)
      continue;
    if (x.used > 0 && x.used + row_bytes_ + x.sent_bytes > x.window)
      continue;
    if (std::find(tried.begin(), tried.end(), number) != tried.end())
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
  const auto time = std::max(x.row_time, x.read_time);
  const auto bytes = row_bytes_ + x.sent_bytes;
  const bool is_tried = x.row_time == 0 || x.unmade >= most_unmade;
  auto n = is_tried ? std::int64_t{1} : settings_.offer_time / time;
  n = std::min(n, settings_.most_offer_bytes / bytes);
  n = std::min(n, static_cast<std::int64_t>(available / cores));
  n = std::max<std::int64_t>(n, 1);
  if (x.used > 0) // the first is always let through
    n = std::min(n, (x.window - x.used) / bytes);
  if (used_ > 0)
    n = std::min(n, (settings_.budget - used_) / bytes);
  constexpr std::int64_t most = most_offered_rows;
  return static_cast<std::size_t>(std::clamp<std::int64_t>(n, 0, most));
}

std::optional<lender_state::offer> lender_state::next_offer(std::int64_t now) {
  const auto available = rows_.num_available();
  if (available == 0)
    return std::nullopt;
  offer made;
  std::vector<std::uint64_t> rows;
  std::vector<std::uint64_t> tried; // they are late with all that there is, or have no room
  helper* to = nullptr;
  while (rows.empty()) {
    to = next_helper(made.link, tried, now);
    if (!to)
      return std::nullopt;
    tried.push_back(made.link);
    const auto which = settings_.weighs_costs ? costs_.choose(to->form, now) : every_row;
    auto n = rows_for(*to, available);
    if (which.is_trial)
      n = std::min(n, lending_costs::rows_of_trial);
    if (n > 0)
      rows = rows_.claim(made.link, n, {which.batches, which.probes});
    if (!which.is_trial)
      continue;
    if (!rows.empty())
      costs_.tried(to->form, now);
    else if (const auto others = rows_for(*to, available); others > 0) // none of these is there
      rows = rows_.claim(made.link, others, {!which.batches, !which.probes});
  }
  made.number = ++last_offer_;
  for (const auto row : rows)
    made.rows.push_back(rows_.place(row));
  const auto size = rows.size();
  counts_.rows_lent += size;
  const auto bytes_sent = to->sent_bytes * static_cast<std::int64_t>(size);
  const auto& x =
      offers_[made.number] = {made.link, now, std::move(rows), size, bytes_sent, row_bytes_, false};
  to->used += x.bytes();
  ++to->offers;
  used_ += x.bytes();
  return made;
}

void lender_state::sent(const offer& x, const sending& how, std::int64_t now) {
  const auto found = offers_.find(x.number);
  if (found == offers_.end())
    return;
  auto& to = helpers_.at(x.link);
  const auto more = how.bytes - std::exchange(found->second.bytes_sent, how.bytes);
  to.used += more;
  used_ += more;
  const auto rows =
      static_cast<std::int64_t>(found->second.left - how.unsent.size() - how.declined.size());
  if (rows > 0) { // those that are larger than the others count at once
    to.sent_bytes = std::max(smoothed(to.sent_bytes, how.bytes / rows), how.bytes / rows);
    to.read_time = smoothed(to.read_time, how.time / rows);
    costs_.sent(to.form, how.work / rows);
  }
  counts_.rows_lent -= how.unsent.size();
  for (const auto i : how.declined)
    declined(x.link, x.number, i, now);
  for (const auto i : how.unsent)
    if (const auto row = take(x.link, x.number, i); row != 0)
      rows_.leave(row, lent_rows::left::unsent);
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
  auto& from = helpers_.at(link);
  const auto bytes = x.bytes_per_row + (x.left == 0 ? x.bytes_sent : 0);
  from.used -= bytes;
  used_ -= bytes;
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
  from.unmade = 0;
  from.rests = 0;
  row_bytes_ = std::max<std::int64_t>(smoothed(row_bytes_, cost.bytes), 1);
  turns_.add((now - since) / static_cast<std::int64_t>(size));
  turn_ = turns_.median();
  auto row = rows_.take(id);
  counts_.rows_received += row && row->is_batch ? 1 : 0;
  return row;
}

void lender_state::put_back(const row_place& row) {
  counts_.rows_received -= row.is_batch ? 1 : 0;
  rows_.put_back(row);
}

void lender_state::declined(std::uint64_t link, std::uint64_t offer, std::size_t index,
                            std::int64_t now) {
  const auto found = offers_.find(offer);
  const bool is_cancelled = found != offers_.end() && found->second.is_cancelled;
  const auto row = take(link, offer, index);
  if (row == 0)
    return;
  rows_.leave(row, lent_rows::left::declined);
  if (is_cancelled)
    return;
  ++counts_.rows_declined;
  helpers_.at(link).has_not_made(now);
}

void lender_state::helper::has_not_made(std::int64_t now) {
  if (++unmade < most_unmade || now < rests_until)
    return;
  const auto rest = first_rest << rests;
  rests_until = now + std::min(rest, last_rest);
  rests += rest < last_rest ? 1 : 0;
}

lender_state::due lender_state::tick(std::int64_t now) {
  due found;
  is_cancel_left_ = false;
  for (auto& [number, x] : helpers_) {
    x.is_silent = now - x.heard >= settings_.silent_after;
    if (now - x.heard >= settings_.dead_after)
      found.dead.push_back(number);
  }
  for (auto& [number, x] : offers_) {
    auto& from = helpers_.at(x.link);
    const auto turn = (now - x.since) / static_cast<std::int64_t>(x.rows.size());
    if (!x.is_late
        && (from.is_silent || now - x.since >= late_after(settings_, turn_, x.rows.size()))) {
      x.is_late = true;
      for (const auto row : x.rows)
        if (row != 0)
          rows_.is_late(row);
    }
    if (x.is_cancelled || rows_.is_any_wanted(x.rows))
      continue;
    auto& offers = found.not_wanted[x.link];
    if (offers.size() == most_cancelled) {
      is_cancel_left_ = true;
      continue;
    }
    offers.push_back(number);
    x.is_cancelled = true;
    if (!x.is_late) // its rows were with others before, who have lost them
      continue;
    // Its rows took at least so long, or the next offers would be as large, and as late. What is
    // late has to do with what rows take here: while helpers hang, rows would wait longer each
    // time.
    from.row_time = std::max(from.row_time, smoothed(from.row_time, turn));
    if (const auto most = most_late_turns * costs_.making(); most > 0) {
      turns_.add(std::min(turn, most));
      turn_ = turns_.median();
    }
    from.has_not_made(now);
  }
  return found;
}

std::int64_t lender_state::next_tick(std::int64_t now) const {
  if (is_cancel_left_)
    return now;
  auto at = now + settings_.dead_after;
  for (const auto& [number, x] : helpers_) {
    at = std::min(at, x.heard + (x.is_silent ? settings_.dead_after : settings_.silent_after));
    if (x.rests_until > now)
      at = std::min(at, x.rests_until);
  }
  for (const auto& [number, x] : offers_)
    if (!x.is_late)
      at = std::min(at, x.since + late_after(settings_, turn_, x.rows.size()));
  return std::max(at, now);
}

lender_counts lender_state::counts() const {
  auto x = counts_;
  x.rows_dealt_again = rows_.num_dealt_again();
  x.not_lent = costs_.reason();
  return x;
}

lender_state::load lender_state::under_way(std::optional<std::uint64_t> link) const noexcept {
  if (!link)
    return {used_, offers_.size(), rows_.size()};
  const auto found = helpers_.find(*link);
  return found == helpers_.end() ? load{} : load{found->second.used, found->second.offers, 0};
}

} // namespace leat
