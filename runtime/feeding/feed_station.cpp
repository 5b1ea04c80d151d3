#include "runtime/feeding/feed_station.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/metrics.hpp"
#include "runtime/base/threads/patience.hpp"

#include <algorithm>
#include <utility>

namespace leat {

namespace {

/// Looks and reads after which it is asked what there is to say.
constexpr unsigned calls_per_pump = 32;
/// A record that is not copied keeps at most so many times its bytes.
constexpr std::size_t most_shares = 4;
/// So long a feed may be gone before users hear of it; one without a journal is not to be waited
/// for any longer.
constexpr std::int64_t most_absence = 10'000'000'000;
/// What a frame takes on the wire besides its payload: its header, and the length of its words.
constexpr std::uint64_t bytes_around_payload = header_bytes + 4;

/// Throws why there is nothing to wait for.
void check_feed(const std::string& name, const fed_job& job, const std::string& fault) {
  const std::string stage = "feed \"" + name + '"';
  const auto& failure = job.client.failure(); // begins with that
  if (!failure.empty() || !fault.empty())
    throw_error(errc::io, stage, failure.empty() ? fault : failure.substr(stage.size() + 2),
                "a feed whose records last as long as the job");
}

/// From now on time passes without a record that the source has not given, or no longer does.
void note_shortage(const fed_job& of, passed_time& starved) {
  if (of.is_short() == starved.is_inside())
    return;
  if (starved.is_inside())
    starved.leave(steady_ns());
  else
    starved.enter(steady_ns());
}

} // namespace

feed_station::feed_station(std::string its_name, settings chosen)
    : name(std::move(its_name)), settings_(std::move(chosen)),
      job_(std::make_unique<fed_job>(name, settings_.window, lanes_of_rank{})),
      absent_since_(steady_ns()) {}

// -- the rank

void feed_station::attend(const lanes_of_rank& place) {
  const mutex_lock lock{mutex_};
  if (!job_->is_used && !job_->is_over && job_->place() == place)
    return;
  counted_.records_taken += job_->lanes().taken();
  job_ = std::make_unique<fed_job>(name, settings_.window, place);
  if (stream_)
    job_->client.expect(*stream_);
  if (out_)
    out_->cut(); // the feed knows this link's rank by the lanes that it had
  out_ = nullptr;
  note_shortage(*job_, counted_.starved);
  absent_since_ = steady_ns();
  is_absence_told_ = false;
  came_.notify_all();
}

void feed_station::expect(const feed_client::known_stream& x, bool else_known) {
  lanes_of_rank place;
  {
    const mutex_lock lock{mutex_};
    if (else_known && stream_)
      return;
    job_->is_over = job_->is_over || (stream_ && stream_->id != x.id);
    stream_ = x;
    job_->client.expect(x);
    place = job_->place();
  }
  attend(place); // again, if other records were served
}

std::string feed_station::refusal_of(const feed_offer& x) const {
  const mutex_lock lock{mutex_};
  return job_->client.refusal_of(x);
}

live_source::state feed_station::peek(std::uint64_t number) {
  const mutex_lock lock{mutex_};
  check_feed(name, *job_, fault_);
  const auto state = job_->look(number);
  note_shortage(*job_, counted_.starved);
  pump(state != live_source::state::ready);
  return state;
}

void feed_station::wait(std::uint64_t number, const std::atomic<bool>& stop) {
  const mutex_lock lock{mutex_};
  const auto limit = end_of_patience();
  while (!stop && !job_->is_over && fault_.empty() && job_->client.failure().empty()
         && job_->client.look(number) == live_source::state::pending) {
    pump(true);
    if (!came_.wait_until(mutex_, limit))
      return;
  }
}

void feed_station::wake() {
  const mutex_lock lock{mutex_};
  job_->is_over = true;
  note_shortage(*job_, counted_.starved);
  came_.notify_all();
}

std::function<void()> feed_station::on_change(std::function<void()> changed) {
  return listeners_.add(std::move(changed));
}

void feed_station::release_below(std::uint64_t number, std::uint64_t lane) {
  const mutex_lock lock{mutex_};
  job_->cover(number, lane);
  pump(false);
}

void feed_station::check_holds(std::uint64_t lowest, std::uint64_t behind) {
  const mutex_lock lock{mutex_};
  const auto& has = job_->client.offer();
  if (has && behind > has->next)
    throw_error(errc::mismatch, "feed \"" + name + '"',
                "records before " + std::to_string(has->next),
                "all records before " + std::to_string(behind)
                    + ", which the snapshot has used: begin the feed with the journal it had");
  if (has && lowest < has->first)
    throw_error(errc::mismatch, "feed \"" + name + '"',
                "records from " + std::to_string(has->first) + " on: earlier ones were released",
                "record " + std::to_string(lowest)
                    + ", which the snapshot needs: restore a newer one, and use keep of the "
                      "loader for snapshots that may be restored");
  job_->resume(lowest, behind);
}

feed_station::record feed_station::read(std::uint64_t number) {
  mutex_lock lock{mutex_};
  for (;;) {
    check_feed(name, *job_, fault_);
    if (job_->is_over)
      throw_error(errc::interrupted, "feed \"" + name + '"', "a job that ends",
                  "one that waits for record " + std::to_string(number));
    auto found = job_->read(number);
    pump(!found);
    if (found)
      return {std::move(found), job_->client.offer()->format};
    counted_.fetching.enter(steady_ns());
    came_.wait_until(mutex_, end_of_patience());
    counted_.fetching.leave(steady_ns());
    lock.unlock();
    check_patience();
    lock.lock();
  }
}

void feed_station::fail(const std::string& why) {
  {
    const mutex_lock lock{mutex_};
    if (!fault_.empty())
      return;
    fault_ = why;
    came_.notify_all();
  }
  listeners_.call();
}

/// Says what there is to say, now or after some more calls. `all`: also what can wait.
void feed_station::pump(bool now, bool all) {
  if (!out_ || (!now && ++calls_ < calls_per_pump))
    return;
  calls_ = 0;
  while (out_->is_empty()) {
    const auto want = job_->client.take_want(all);
    if (!want)
      return;
    auto bytes = encode(*want);
    costs.wire_bytes.add(bytes.size() + bytes_around_payload);
    out_->send(frame_with(frame_kind::wants, 0, std::move(bytes)));
  }
}

feed_tally feed_station::tally() const {
  const auto now = steady_ns();
  const mutex_lock lock{mutex_};
  const auto& lanes = job_->lanes();
  const auto& has = job_->client.offer();
  feed_tally x{.name = name,
               .at = out_ ? counted_.address : std::string{},
               .needed_from = lanes.needed_from(),
               .records_taken = counted_.records_taken + lanes.taken(),
               .records_received = counted_.records_received,
               .bytes_received = counted_.bytes_received,
               .wire_bytes = costs.wire_bytes.get(),
               .starved = counted_.starved.sum(now),
               .fetching = counted_.fetching.any(now),
               .waited = counted_.fetching.sum(now),
               .processor = costs.processor.get().count()};
  if (!has)
    return x;
  x.has_journal = has->has_journal;
  x.has_ended = has->has_ended;
  x.records_read = has->next;
  x.reached = lanes.reached(has->next);
  x.costs = has->costs;
  x.needed_from = std::max(x.needed_from, has->first); // older ones are gone
  return x;
}

std::optional<feed_client::known_stream> feed_station::served() const noexcept {
  const mutex_lock lock{mutex_};
  const auto& x = job_->client.offer();
  return x ? std::optional{feed_client::known_stream{x->stream.id, x->has_journal}} : std::nullopt;
}

// -- links

std::string feed_station::join(const std::shared_ptr<link_out>& by, const feed_offer& x,
                               const std::string& address) {
  bool was_told = false;
  {
    const mutex_lock lock{mutex_};
    if (auto why = job_->client.refusal_of(x); !why.empty())
      return why;
    if (out_)
      out_->cut();
    out_ = by;
    counted_.address = address;
    absent_since_ = 0;
    was_told = std::exchange(is_absence_told_, false);
    job_->client.linked();
    job_->client.heard(x);
    stream_ = feed_client::known_stream{x.stream.id, x.has_journal};
    note_shortage(*job_, counted_.starved);
    pump(true);
    came_.notify_all();
  }
  if (was_told) // not under the mutex: whoever hears may wait for a thread that waits for it
    settings_.log("feed \"" + name + "\" is served");
  listeners_.call();
  return {};
}

void feed_station::heard(const link_out& by, const feed_offer& x) {
  {
    const mutex_lock lock{mutex_};
    const auto& has = job_->client.offer();
    const bool is_older =
        has && (x.next < has->next || (x.next == has->next && has->has_ended && !x.has_ended));
    if (out_.get() != &by || is_older) // two threads may tell what one link has said
      return;
    job_->client.heard(x);
    note_shortage(*job_, counted_.starved);
    pump(true);
    came_.notify_all();
  }
  listeners_.call();
}

bool feed_station::receive(const link_out& by, const std::shared_ptr<const void>& owner,
                           std::string_view payload) {
  const auto records = decode_feed_records(payload);
  if (!records)
    return false;
  std::vector<fetched_records::content> contents; // made without the mutex, which each look takes
  contents.reserve(records->size());
  for (const auto& x : *records) {
    // A small one would keep all of what has come.
    const bool is_large = x.content.size() >= payload.size() / most_shares;
    contents.push_back(fetched_records::kept(x.content, is_large ? owner : nullptr));
  }
  const mutex_lock lock{mutex_};
  if (out_.get() != &by)
    return true;
  for (std::size_t i = 0; i < contents.size(); ++i) {
    counted_.bytes_received += contents[i]->size();
    if (!job_->client.receive((*records)[i].number, std::move(contents[i])))
      return false;
    ++counted_.records_received;
  }
  pump(true);
  came_.notify_all();
  return true;
}

void feed_station::lost(const link_out& by) {
  const mutex_lock lock{mutex_};
  if (out_.get() != &by)
    return;
  out_ = nullptr;
  absent_since_ = steady_ns();
  job_->client.unlinked();
}

void feed_station::tick(std::int64_t now) {
  bool has_failed = false;
  bool is_absent = false;
  {
    const mutex_lock lock{mutex_};
    if (out_) {
      pump(true, true);
      return;
    }
    const auto& has = job_->client.offer();
    const bool needs_it =
        has ? !has->has_ended || job_->client.records().is_waiting() : job_->is_used;
    if (now - absent_since_ < most_absence || !needs_it || !job_->is_used || !fault_.empty())
      return;
    if (stream_ && !stream_->has_journal) {
      fault_ = "the process that served it is gone for 10 s, and had no journal: its records are "
               "lost";
      has_failed = true;
      came_.notify_all();
    } else {
      is_absent = !std::exchange(is_absence_told_, true);
    }
  }
  if (is_absent)
    settings_.log("feed \"" + name + "\": nobody serves it: " + settings_.advice);
  if (has_failed)
    listeners_.call();
}

} // namespace leat
