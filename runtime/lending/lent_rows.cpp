#include "runtime/lending/lent_rows.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

/// Rows are lent by this thread alone, so it cannot be one of another opening.
bool is_lent(const row_place& x) noexcept {
  return x.slot->holder(x.row).state.load(std::memory_order_acquire) == row_holder::phase::lent;
}

} // namespace

void lent_rows::opened(std::shared_ptr<batch_slot> slot) {
  // All rows of the opening before are done, so what is left of them is of no use to anyone.
  std::erase_if(slots_, [&](const open_slot& x) {
    return x.slot == slot || x.slot->num_unclaimed(x.ticket, x.limit) == 0;
  });
  std::erase_if(rows_, [&](const auto& x) { return x.second.place.slot == slot; });
  std::erase_if(waiting_, [&](std::uint64_t x) { return !rows_.contains(x); });
  std::erase_if(for_here_, [&](const row_place& x) { return x.slot == slot; });
  slots_.push_back({slot, slot->ticket(), slot->num_rows(), slot->holds_batch()});
}

std::size_t lent_rows::num_available() const noexcept {
  auto n = waiting_.size();
  for (const auto& x : slots_)
    n += x.slot->num_unclaimed(x.ticket, x.limit);
  return n;
}

std::vector<std::uint64_t> lent_rows::claim(std::uint64_t link, std::size_t n, kinds which) {
  std::vector<std::uint64_t> rows;
  claim_waiting(link, n, which, rows);
  // Probes first, since iterators wait for them; then the newest batches, which are needed last.
  for (const auto& x : slots_)
    if (which.probes && !x.is_batch && rows.size() < n)
      claim_from(x, n - rows.size(), rows);
  for (auto x = slots_.rbegin(); x != slots_.rend() && rows.size() < n; ++x)
    if (which.batches && x->is_batch)
      claim_from(*x, n - rows.size(), rows);
  for (const auto id : rows) {
    auto& row = rows_.at(id);
    ++row.holders;
    row.link = link;
  }
  return rows;
}

/// A helper that has the row already is late with it.
void lent_rows::claim_waiting(std::uint64_t link, std::size_t n, kinds which,
                              std::vector<std::uint64_t>& to) {
  for (auto left = waiting_.size(); left > 0 && to.size() < n; --left) {
    const auto id = waiting_.front();
    waiting_.pop_front();
    auto& row = rows_.at(id);
    const bool is_wanted = row.place.is_batch ? which.batches : which.probes;
    if (!is_wanted || (row.holders > 0 && row.link == link)) {
      waiting_.push_back(id);
      continue;
    }
    row.is_waiting = false;
    if (is_lent(row.place))
      to.push_back(id);
    else
      forget_if_over(id);
  }
}

void lent_rows::claim_from(const open_slot& from, std::size_t n, std::vector<std::uint64_t>& to) {
  const auto rows = from.slot->claim_last(from.ticket, from.limit, n);
  for (auto row = rows.first; row < rows.end; ++row) {
    rows_[++last_row_].place = {from.slot, from.ticket, static_cast<std::uint32_t>(row), from.limit,
                                from.is_batch};
    to.push_back(last_row_);
  }
}

std::optional<row_place> lent_rows::take(std::uint64_t row) {
  const auto found = rows_.find(row);
  if (found == rows_.end()) // its batch is over
    return std::nullopt;
  --found->second.holders;
  auto place = found->second.place;
  forget_if_over(row);
  return place.slot->take_lent(place.ticket, place.row) ? std::optional{std::move(place)}
                                                        : std::nullopt;
}

void lent_rows::put_back(const row_place& row) {
  row.slot->put_back(row.row);
  for_here_.push_back(row);
  for (auto& [id, x] : rows_) // others may have it, too
    if (x.place.slot == row.slot && x.place.row == row.row)
      x.place.is_dealt_here = true;
}

bool lent_rows::is_any_wanted(const std::vector<std::uint64_t>& rows) const {
  return std::any_of(rows.begin(), rows.end(), [&](std::uint64_t row) {
    const auto found = rows_.find(row); // which are numbered from 1 on
    return found != rows_.end() && is_lent(found->second.place);
  });
}

void lent_rows::leave(std::uint64_t row, left why) {
  const auto found = rows_.find(row);
  if (found == rows_.end())
    return;
  auto& x = found->second;
  --x.holders;
  x.losses += why == left::lost ? 1 : 0;
  if (why != left::lost || x.holders == 0 || x.place.is_dealt_here)
    deal_again(row, why != left::declined && x.losses < most_losses_);
  forget_if_over(row);
}

void lent_rows::is_late(std::uint64_t row) {
  const auto found = rows_.find(row);
  if (found != rows_.end())
    deal_again(row, found->second.losses < most_losses_);
}

void lent_rows::deal_again(std::uint64_t row, bool also_to_others) {
  auto& x = rows_.at(row);
  if (!is_lent(x.place))
    return;
  ++dealt_again_;
  x.place.is_dealt_here = true;
  for_here_.push_back(x.place);
  if (!also_to_others || x.is_waiting)
    return;
  x.is_waiting = true;
  waiting_.push_back(row);
}

void lent_rows::forget_if_over(std::uint64_t row) {
  const auto found = rows_.find(row);
  if (found != rows_.end() && found->second.holders == 0 && !found->second.is_waiting)
    rows_.erase(found);
}

} // namespace leat
