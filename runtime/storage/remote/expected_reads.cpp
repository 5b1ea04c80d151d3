#include "runtime/storage/remote/expected_reads.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>

namespace leat {

namespace {

std::uint64_t bytes_of(std::span<const read_part> parts) {
  std::uint64_t bytes = 0;
  for (const auto& x : parts)
    bytes += x.into.size();
  return bytes;
}

} // namespace

/// A read that waits for pieces in flight, or for its stop.
class expected_reads::pending_read {
public:
  pending_read(std::span<const read_part> parts, std::vector<piece_ptr> pieces, read_done done)
      : parts(parts.begin(), parts.end()), pieces(std::move(pieces)), done(std::move(done)) {}

  /// Only the first caller may end it.
  bool claim() noexcept { return !is_claimed_.exchange(true); }

  const std::vector<read_part> parts;
  const std::vector<piece_ptr> pieces;
  read_done done;
  /// Pieces that are not here yet.
  std::atomic<std::size_t> missing{0};
  std::optional<std::stop_callback<std::function<void()>>> on_stop;

private:
  std::atomic<bool> is_claimed_{false};
};

expected_reads::~expected_reads() {
  stop_.request_stop();
  const mutex_lock lock{mutex_};
  while (in_flight_.now > 0)
    none_in_flight_.wait(mutex_);
  // Who told of the last one may hold it for longer than the budget lives; its memory may not.
  for (const auto& x : in_order_)
    drop(*x);
  budget_.give_back(held_);
}

void expected_reads::read(std::span<const read_part> parts, read_done done,
                          const std::stop_token& stop) {
  std::vector<piece_ptr> pieces;
  if (const auto waiting = wait_for(parts, pieces, done, stop)) {
    if (stop.stop_possible())
      waiting->on_stop.emplace(stop, [weak = std::weak_ptr{waiting}] {
        const auto x = weak.lock();
        if (x && x->claim())
          x->done(
              {.bytes = 0,
               .failure = std::make_shared<const error>(
                   errc::io, error_details{.stage = "read", .got = "a read that was stopped"})});
      });
    return begin_some();
  }
  const bool is_given = !pieces.empty() && give(parts, pieces);
  begin_some();
  if (is_given)
    return done({.bytes = bytes_of(parts), .failure = {}});
  from().read(parts, std::move(done), stop);
}

read_result expected_reads::read_here(std::span<const read_part> parts,
                                      const std::stop_token& stop) {
  std::vector<piece_ptr> pieces;
  {
    const mutex_lock lock{mutex_};
    pieces = pieces_of(parts);
  }
  if (!pieces.empty() && give(parts, pieces)) {
    begin_some();
    return {.bytes = bytes_of(parts), .failure = {}};
  }
  const byte_wait waiting{counts_};
  if (!pieces.empty())
    return stored_objects::read_here(parts, stop);
  begin_some();
  return from().read_here(parts, stop); // which may have them at hand
}

/// A read that ends with pieces in flight, and then calls `done`, which it has taken. Null if there
/// is nothing to wait for: `pieces` have the parts, or are none.
std::shared_ptr<expected_reads::pending_read>
expected_reads::wait_for(std::span<const read_part> parts, std::vector<piece_ptr>& pieces,
                         read_done& done, const std::stop_token& stop) {
  const mutex_lock lock{mutex_};
  pieces = pieces_of(parts);
  const auto is_here = [](const piece_ptr& x) { return x->is == piece::state::here; };
  if (std::all_of(pieces.begin(), pieces.end(), is_here))
    return {};
  auto waiting = std::make_shared<pending_read>(parts, pieces, std::move(done));
  for (const auto& x : pieces) {
    if (is_here(x))
      continue;
    ++waiting->missing;
    x->waiting.push_back([this, waiting, stop] {
      if (--waiting->missing > 0 || !waiting->claim())
        return;
      if (give(waiting->parts, waiting->pieces))
        waiting->done({.bytes = bytes_of(waiting->parts), .failure = {}});
      else
        from().read(waiting->parts, std::move(waiting->done), stop);
    });
  }
  return waiting;
}

bool expected_reads::expect_soon(std::span<const expected_range> ranges) noexcept {
  try {
    expect_ranges(ranges, true);
  } catch (...) { // the reads themselves will come
  }
  return true;
}

bool expected_reads::expect_perhaps(std::span<const expected_range> ranges) noexcept {
  try {
    expect_ranges(ranges, false);
  } catch (...) { // they are expected later, if at all
  }
  return true;
}

void expected_reads::expect_ranges(std::span<const expected_range> ranges, bool is_sure) {
  std::vector<expected_range> far;
  std::copy_if(ranges.begin(), ranges.end(), std::back_inserter(far),
               [&](const expected_range& x) { return !from().is_at_hand(x); });
  if (far.empty())
    return;
  {
    const mutex_lock lock{mutex_};
    for (const auto& x : far)
      add(x, is_sure);
    // By now they are among what was expected, or will not be.
    if (!kept_.all.empty() && last_number_ >= kept_.all.back()->number + kept_.all.size())
      forget_kept();
  }
  begin_some();
}

void expected_reads::expect_nothing() noexcept {
  const mutex_lock lock{mutex_};
  for (const auto& x : in_order_)
    if (x->is != piece::state::in_flight)
      drop(*x);
  std::erase_if(in_order_, [](const piece_ptr& x) { return x->is == piece::state::dropped; });
  waiting_.clear();
  forget_kept();
  without_budget_.set(false);
  buffers_->clear();
}

/// What may be expected leaves most of the budget to others: it may be long before anybody reads
/// it, if ever.
void expected_reads::add(expected_range x, bool is_sure) {
  if (x.size == 0)
    return;
  x = blocks_.widened(x);
  const place at{x.object, x.offset};
  if (const auto known = pieces_.find(at);
      known != pieces_.end() && known->second->range.size >= x.size) {
    auto& found = *known->second;
    kept_.are_right = kept_.are_right || (is_sure && found.is_first);
    found.left += is_sure ? x.size : 0; // it is read once more
    found.is_kept = found.is_kept && !is_sure;
    return;
  }
  if (!is_sure && kept_.bytes + x.size > budget_.limit() / 4)
    return;
  kept_.go_first = kept_.go_first && (!is_sure || kept_.are_right);
  auto made = std::make_shared<piece>();
  made->range = x;
  made->number = ++last_number_;
  made->left = is_sure ? x.size : 0;
  made->is_kept = made->is_first = !is_sure;
  pieces_[at] = made;
  if (!is_sure) {
    kept_.all.push_back(made);
    kept_.bytes += x.size;
  }
  waiting_.push_back(made);
  in_order_.push_back(std::move(made));
}

expected_reads::piece_ptr expected_reads::find(const read_part& x) const {
  auto at = pieces_.upper_bound({x.object, x.offset});
  if (at == pieces_.begin())
    return nullptr;
  const auto& found = (--at)->second;
  if (found->range.object != x.object)
    return nullptr;
  return x.offset + x.into.size() <= found->range.offset + found->range.size ? found : nullptr;
}

std::vector<expected_reads::piece_ptr> expected_reads::pieces_of(std::span<const read_part> parts) {
  std::vector<piece_ptr> pieces;
  if (pieces_.empty())
    return pieces;
  bool are_begun = true;
  for (const auto& x : parts) {
    if (x.into.empty())
      return {};
    auto found = find(x);
    if (found)
      drop_passed(found->number);
    are_begun = are_begun && found && found->is != piece::state::waiting
                && found->is != piece::state::dropped;
    pieces.push_back(std::move(found));
  }
  if (are_begun)
    return pieces;
  for (const auto& x : pieces) // all of it is read at once
    if (x && x->is != piece::state::in_flight)
      drop(*x);
  return {};
}

bool expected_reads::give(std::span<const read_part> parts, std::span<const piece_ptr> pieces) {
  std::vector<std::shared_ptr<std::byte[]>> bytes;
  bytes.reserve(parts.size());
  {
    const mutex_lock lock{mutex_};
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (!pieces[i]->has(parts[i]))
        return false;
      bytes.push_back(pieces[i]->bytes);
    }
  }
  for (std::size_t i = 0; i < parts.size(); ++i)
    std::copy_n(bytes[i].get() + (parts[i].offset - pieces[i]->range.offset), parts[i].into.size(),
                parts[i].into.begin());
  const mutex_lock lock{mutex_};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    auto& x = *pieces[i];
    x.left -= std::min<std::uint64_t>(x.left, parts[i].into.size());
    if (x.left == 0 && !x.is_kept)
      drop(x);
  }
  return true;
}

/// A job's first rows have the way to the server, and the machine, for themselves.
void expected_reads::begin_some() {
  // What may be expected does not wait for room.
  const auto room_for = [this](const piece& x) {
    const auto limit = budget_.limit();
    return x.is_kept ? limit - std::min(limit, budget_.used()) : limit;
  };
  for (;;) {
    piece_ptr next;
    {
      const mutex_lock lock{mutex_};
      while (!waiting_.empty()
             && (waiting_.front()->is != piece::state::waiting
                 || waiting_.front()->range.size > room_for(*waiting_.front()))) {
        drop(*waiting_.front());
        waiting_.pop_front();
      }
      const bool may_begin =
          !waiting_.empty() && in_flight_.now < in_flight_.most
          && (waiting_.front()->is_first || kept_.in_flight == 0 || !kept_.go_first);
      const bool is_held = may_begin && !budget_.take(waiting_.front()->range.size);
      without_budget_.set(is_held);
      if (!may_begin || is_held)
        return;
      next = std::move(waiting_.front());
      waiting_.pop_front();
      next->is = piece::state::in_flight;
      held_ += next->range.size;
      ++in_flight_.now;
      kept_.in_flight += next->is_first ? 1 : 0;
    }
    begin(next);
  }
}

void expected_reads::begin(const piece_ptr& x) {
  const auto size = static_cast<std::size_t>(x->range.size);
  try {
    from().read_ahead_if_far(
        x->range,
        [this, x, size] {
          x->bytes = buffers_->take(size);
          return std::span{x->bytes.get(), size};
        },
        [this, x](const read_result& y) { end(x, y.failure ? 0 : y.bytes); }, stop_.get_token());
  } catch (...) {
    end(x, 0);
  }
}

void expected_reads::end(const piece_ptr& x, std::uint64_t bytes) {
  std::vector<std::function<void()>> waiting;
  {
    const mutex_lock lock{mutex_};
    x->size = bytes;
    x->is = piece::state::here;
    kept_.in_flight -= x->is_first ? 1 : 0;
    in_flight_.most = std::min(in_flight_.most + 1, most_ever_in_flight);
    waiting.swap(x->waiting);
    if (bytes == 0 || (x->left == 0 && !x->is_kept))
      drop(*x);
  }
  for (const auto& tell : waiting)
    tell();
  begin_some();
  const mutex_lock lock{mutex_};
  if (--in_flight_.now == 0)
    none_in_flight_.notify_all();
}

/// What only might have been expected leaves its room.
void expected_reads::forget_kept() {
  for (const auto& x : kept_.all) {
    const bool is_unwanted = std::exchange(x->is_kept, false) && x->left == 0;
    if (is_unwanted && x->is != piece::state::in_flight)
      drop(*x);
  }
  kept_.all.clear();
  kept_.bytes = 0;
}

/// Not while it is in flight.
void expected_reads::drop(piece& x) {
  if (x.is == piece::state::dropped)
    return;
  if (x.is == piece::state::here) {
    held_ -= x.range.size;
    budget_.give_back(x.range.size);
  }
  x.is = piece::state::dropped;
  x.bytes.reset();
  if (const auto at = pieces_.find({x.range.object, x.range.offset});
      at != pieces_.end() && at->second.get() == &x)
    pieces_.erase(at);
}

void expected_reads::drop_passed(std::uint64_t number) {
  while (!in_order_.empty()) {
    auto& x = *in_order_.front();
    if (x.is == piece::state::in_flight
        || (x.is != piece::state::dropped && x.number + most_out_of_order >= number))
      return;
    drop(x);
    in_order_.pop_front();
  }
}

} // namespace leat
