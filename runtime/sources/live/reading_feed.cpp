#include "runtime/sources/live/reading_feed.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/base/threads/patience.hpp"
#include "runtime/base/xxh3.hpp"

#include <leat/notice.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace leat {

reading_feed::reading_feed(std::shared_ptr<once_input> input, std::unique_ptr<record_store> records,
                           read_ahead_limits limits)
    : input_(std::move(input)), records_(std::move(records)), first_(records_->first()),
      next_(records_->next()), ahead_(limits, next_) {}

reading_feed::~reading_feed() {
  if (!home_.is_here()) {
    // It belongs to the parent of this process: its thread does not exist here, and would be waited
    // for for ever.
    [[maybe_unused]] const auto* left = helper_.release();
    return;
  }
  if (!helper_->thread.joinable())
    return;
  mutex_lock lock{mutex_};
  reading_.is_stopping = true;
  helper_->wanted.notify_one();
  reading_.reader->interrupt();
  const auto patience = std::chrono::steady_clock::now() + std::chrono::seconds{1};
  while (!reading_.has_run && helper_->came.wait_until(mutex_, patience)) {
  }
  if (!reading_.has_run)
    notice("once source \"" + name() + "\": waiting for its function to return");
  lock.unlock();
  helper_->thread.join();
}

// -- what other threads see

live_source::state reading_feed::peek(std::uint64_t number) {
  mutex_lock lock{mutex_};
  want(number);
  if (number < next_)
    return state::ready;
  if (reading_.failure)
    std::rethrow_exception(reading_.failure);
  return reading_.has_ended ? state::ended : state::pending;
}

void reading_feed::wait(std::uint64_t number, const std::atomic<bool>& stop) {
  mutex_lock lock{mutex_};
  want(number);
  const auto limit = end_of_patience();
  while (number >= next_ && !reading_.has_ended && !reading_.failure && !stop)
    if (!helper_->came.wait_until(mutex_, limit))
      return;
}

void reading_feed::wake() {
  const mutex_lock lock{mutex_}; // so that nobody is between checking and waiting
  helper_->came.notify_all();
}

void reading_feed::want(std::uint64_t number) {
  if (number < first_)
    throw_no_record(*records_, number);
  ahead_.want(number);
  if (!reading_.reader) {
    auto reader = input_->begin();
    helper_->lives.emplace();
    helper_->thread = begin_thread("once source \"" + name() + '"', [this] { run(); });
    reading_.reader = std::move(reader);
  }
  helper_->wanted.notify_one();
}

std::function<void()> reading_feed::on_change(std::function<void()> changed) {
  return listeners_.add(std::move(changed));
}

void reading_feed::read(std::uint64_t number, sample& into) const {
  const auto content = records_->read(number, into);
  into.count_read(content.size());
  input_->set_fields(into, content);
}

void reading_feed::append_id(std::uint64_t number, std::string& to) const {
  to += input_->name() + '/' + std::to_string(number);
}

void reading_feed::release_below(std::uint64_t number, std::uint64_t lane, std::uint64_t lanes) {
  std::uint64_t lowest = 0;
  {
    mutex_lock lock{mutex_};
    released_.release_below(number, lane, lanes);
    lowest = std::min(released_.lowest(), next_);
    if (lowest <= first_)
      return;
    first_ = lowest;
  }
  records_->release_below(lowest);
}

void reading_feed::hold_from(std::uint64_t number, std::uint64_t lane, std::uint64_t lanes) {
  mutex_lock lock{mutex_};
  released_.hold_from(number, lane, lanes);
}

void reading_feed::check_holds(std::uint64_t lowest, std::uint64_t behind) const {
  mutex_lock lock{mutex_};
  if (behind > next_)
    throw_error(errc::mismatch, "once source \"" + name() + '"',
                "a journal that ends before record " + std::to_string(next_),
                "the snapshot's journal, with all records before " + std::to_string(behind));
  if (lowest < first_)
    throw_error(errc::mismatch, "once source \"" + name() + '"',
                "a journal that begins with record " + std::to_string(first_)
                    + ": earlier ones were released",
                "record " + std::to_string(lowest)
                    + ", which the snapshot needs: restore a newer one, and use keep of the "
                      "loader for snapshots that may be restored");
}

source_facts reading_feed::facts() const {
  hash_stream hash;
  hash.add(name());
  return {.digest = hash.digest128()};
}

// -- the thread

void reading_feed::run() {
  try {
    for (auto* reader = wait_until_wanted(); reader && read_some(*reader);
         reader = wait_until_wanted()) {
    }
  } catch (...) {
    publish({}, std::current_exception());
  }
  mutex_lock lock{mutex_};
  reading_.has_run = true;
  helper_->came.notify_all();
}

record_reader* reading_feed::wait_until_wanted() {
  mutex_lock lock{mutex_};
  while (!reading_.is_stopping && !ahead_.wants_more())
    helper_->wanted.wait(mutex_);
  return reading_.is_stopping ? nullptr : reading_.reader.get();
}

bool reading_feed::read_some(record_reader& reader) {
  const auto got = reader.take(*records_);
  publish(got);
  return got.now == record_reader::state::going_on;
}

/// Tells the listeners if anyone looked at a record that had not come.
void reading_feed::publish(const record_reader::result& got, std::exception_ptr failure) {
  bool awaited = false;
  {
    mutex_lock lock{mutex_};
    const auto before = std::exchange(next_, records_->next());
    ahead_.came(next_, got.bytes);
    reading_.has_ended = got.now == record_reader::state::ended;
    reading_.failure = std::move(failure);
    awaited =
        before < ahead_.wanted() && (next_ > before || reading_.has_ended || reading_.failure);
    helper_->came.notify_all();
  }
  if (awaited)
    listeners_.call();
}

} // namespace leat
