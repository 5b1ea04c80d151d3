#include "runtime/storage/cache/block_jobs.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

/// The kernel says that a dying process closes a file just before it frees the lock.
constexpr auto time_to_die = std::chrono::milliseconds{10};

std::unique_ptr<part_watch> watch_or_none() {
  try {
    return std::make_unique<part_watch>();
  } catch (const error&) {
    return {};
  }
}

std::shared_ptr<const error> failure_in_flight(const remote_object& of) {
  return std::make_shared<const error>(
      error_in_flight(errc::io, {.stage = "read", .file = of.name()}));
}

} // namespace

block_jobs::block_jobs(std::shared_ptr<range_fetcher> from, cache_directory& directory,
                       disk_tasks& disk, cache_counts& counts, std::chrono::nanoseconds patience)
    : from_(std::move(from)), directory_(directory), disk_(disk), counts_(counts),
      patience_(patience), watch_(watch_or_none()) {}

block_jobs::~block_jobs() {
  stop_.request_stop();
  if (watch_)
    watch_->end_waiting();
  const mutex_lock lock{mutex_};
  while (begun_ > 0 || !urgent_.empty() || !others_.empty())
    all_ended_.wait(mutex_);
}

bool block_jobs::join(const block_id& id, const wanted& x) {
  job_ptr has;
  {
    const mutex_lock lock{mutex_};
    const auto at = jobs_.find(id);
    if (at == jobs_.end())
      return false;
    auto& known = *at->second;
    x.by->add_part();
    if (known.is_here)
      has = at->second;
    else
      known.waiting.push_back(x);
    if (!known.is_here && x.by->is_urgent && !std::exchange(known.is_urgent, true)
        && !known.is_begun)
      urgent_.push_back(at->second);
  }
  if (has) {
    x.by->put(x.range.begin, {has->bytes.get() + (x.range.begin - has->range.begin),
                              static_cast<std::size_t>(x.range.size())});
    x.by->end_part();
  }
  return true;
}

void block_jobs::fetch(const block_id& id, const wanted& x) {
  while (!join(id, x)) {
    const mutex_lock lock{mutex_};
    if (jobs_.contains(id))
      continue; // another thread was faster
    auto made = std::make_shared<job>();
    const auto begin = id.index * cache_block_bytes;
    made->id = id;
    made->object = x.by->object;
    made->range = {begin, begin + bytes_of_block(id.index, x.by->object_bytes)};
    made->is_urgent = x.by->is_urgent;
    made->waiting.push_back(x);
    jobs_.emplace(id, made);
    (made->is_urgent ? urgent_ : others_).push_back(std::move(made));
    x.by->add_part();
    break;
  }
  begin_some();
}

void block_jobs::pass_by(const wanted& x) {
  counts_.bytes_passed_by += x.range.size();
  x.by->add_part();
  const auto made =
      x.by->begin_direct(x.range, [by = x.by](const read_result& r) { by->end_direct(r.failure); });
  if (!made)
    return x.by->end_part();
  try {
    from_->begin(made, x.by->stop);
  } catch (...) {
    x.by->end_direct(failure_in_flight(*x.by->object));
  }
}

block_jobs::job_ptr block_jobs::next_to_begin() {
  while (begun_ < most_begun && !(urgent_.empty() && others_.empty())) {
    auto& from = urgent_.empty() ? others_ : urgent_;
    auto next = std::move(from.front());
    from.pop_front();
    if (std::exchange(next->is_begun, true))
      continue; // it was in both
    next->deadline = part_watch::clock::now()
                     + std::chrono::duration_cast<part_watch::clock::duration>(patience_);
    ++begun_;
    return next;
  }
  return {};
}

void block_jobs::begin_some() {
  for (;;) {
    job_ptr next;
    {
      const mutex_lock lock{mutex_};
      next = next_to_begin();
    }
    if (!next)
      return;
    later(next, &block_jobs::attempt);
  }
}

void block_jobs::later(const job_ptr& x, void (block_jobs::*what)(const job_ptr&)) {
  disk_.add([this, x, what](disk_tasks::scratch&) { (this->*what)(x); }, true);
}

void block_jobs::attempt(const job_ptr& x) {
  bool is_over = true;
  try {
    is_over = is_over_after_attempt(x);
  } catch (...) { // no memory
    fail_all(x, failure_in_flight(*x->object));
  }
  if (is_over)
    end(x);
}

/// Claims the block, and fetches it unless somebody else just has.
bool block_jobs::is_over_after_attempt(const job_ptr& x) {
  if (stop_.stop_requested())
    return true; // nobody waits any more
  const auto size = static_cast<std::size_t>(x->range.size());
  const auto is_given = [&] {
    if (!x->bytes)
      x->bytes = std::shared_ptr<std::byte[]>{new std::byte[size]};
    disk_tasks::scratch scratch;
    const auto found =
        directory_.read(x->id, size, 0, size, scratch, [&](std::span<const std::byte> bytes) {
          std::copy(bytes.begin(), bytes.end(), x->bytes.get());
        });
    if (found == cache_directory::found::bytes)
      give(x);
    return found == cache_directory::found::bytes;
  };
  if (x->claim.is() != block_claim::state::taken)
    x->claim = directory_.claim(x->id);
  else if (x->watch && is_given())
    return true; // most of those who wait for it
  else if (directory_.claim_again(x->claim, x->id))
    end_watch(*x); // it was another file's
  if (x->claim.is() == block_claim::state::taken)
    return is_over_after_wait(x);
  if (is_given())
    return true;
  if (x->claim.is() == block_claim::state::impossible || !directory_.space().take(size)) {
    pass_all(x);
    return true;
  }
  request(x);
  return false;
}

/// Until whoever has the block is done with it.
bool block_jobs::is_over_after_wait(const job_ptr& x) {
  const auto now = part_watch::clock::now();
  if (!x->watch && watch_ && now < x->deadline) {
    x->watch = watch_->add(x->claim.file());
    if (x->watch)
      return is_over_after_attempt(x); // it may have been given back meanwhile
  }
  if (!x->watch || now >= x->deadline) {
    ++counts_.waits_in_vain;
    pass_all(x);
    return true;
  }
  const auto until = x->has_changed ? std::min(x->deadline, now + time_to_die) : x->deadline;
  watch_->when_changed(*x->watch, until, [this, x](part_watch::why reason) {
    x->has_changed = reason == part_watch::why::changed;
    later(x, &block_jobs::attempt);
  });
  return false;
}

void block_jobs::end_watch(job& x) {
  if (!x.watch)
    return;
  watch_->remove(*x.watch);
  x.watch.reset();
  ++counts_.waits;
}

void block_jobs::request(const job_ptr& x) {
  end_watch(*x);
  std::vector<std::span<std::byte>> into{
      {x->bytes.get(), static_cast<std::size_t>(x->range.size())}};
  auto made = std::make_shared<range_fetch>(x->object, x->range.begin, std::move(into),
                                            [this, x](const read_result& r) { come(x, r); });
  {
    const mutex_lock lock{mutex_};
    made->is_urgent = x->is_urgent;
  }
  ++counts_.blocks_fetched;
  from_->begin(std::move(made), stop_.get_token());
}

/// Called by the thread of the transfers, which does not wait for disks.
void block_jobs::come(const job_ptr& x, const read_result& result) {
  if (result.failure) {
    fail_all(x, result.failure);
    return later(x, &block_jobs::end);
  }
  give(x);
  later(x, &block_jobs::store);
}

void block_jobs::store(const job_ptr& x) {
  try {
    if (directory_.store(x->claim, x->id,
                         {x->bytes.get(), static_cast<std::size_t>(x->range.size())}))
      ++counts_.blocks_stored;
  } catch (...) { // no memory; those who wait for the block have it
  }
  end(x);
}

/// Who waits for it; from now on it gives the bytes itself, or is not found any more.
std::vector<block_jobs::wanted> block_jobs::take_waiting(const job_ptr& x, bool is_here) {
  const mutex_lock lock{mutex_};
  x->is_here = is_here;
  if (const auto at = jobs_.find(x->id); !is_here && at != jobs_.end() && at->second == x)
    jobs_.erase(at);
  return std::exchange(x->waiting, {});
}

void block_jobs::give(const job_ptr& x) {
  for (const auto& to : take_waiting(x, true)) {
    to.by->put(to.range.begin, {x->bytes.get() + (to.range.begin - x->range.begin),
                                static_cast<std::size_t>(to.range.size())});
    to.by->end_part();
  }
}

void block_jobs::pass_all(const job_ptr& x) {
  for (const auto& to : take_waiting(x, false)) {
    pass_by(to);
    to.by->end_part();
  }
}

void block_jobs::fail_all(const job_ptr& x, const std::shared_ptr<const error>& failure) {
  for (const auto& to : take_waiting(x, false))
    to.by->end_part(failure);
}

/// Gives everything back, and its place to the next one. With the last one, this may be destroyed.
void block_jobs::end(const job_ptr& x) {
  end_watch(*x);
  x->claim = {};
  pass_all(x); // of a job that ended without a word, at the end of all
  job_ptr next;
  {
    const mutex_lock lock{mutex_};
    --begun_;
    next = next_to_begin();
    if (begun_ == 0)
      all_ended_.notify_all();
  }
  if (next)
    later(next, &block_jobs::attempt);
}

} // namespace leat
