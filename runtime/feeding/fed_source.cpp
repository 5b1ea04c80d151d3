#include "runtime/feeding/fed_source.hpp"

#include "runtime/base/error_in_flight.hpp"

#include <chrono>
#include <utility>

namespace leat {

namespace {

/// At the end, for what a queue is told last.
constexpr std::chrono::seconds most_farewell{5};
/// Its numbers change with each batch of a slow lane.
constexpr std::chrono::seconds between_held_back{10};
/// What a record takes in memory besides its bytes, so that many small ones count, too.
constexpr std::uint64_t bytes_around_record = 96;

/// What wants to know which records are covered; null if nothing does.
placed_input* queue_of(once_input& x) {
  auto* const found = dynamic_cast<placed_input*>(&x);
  return found && found->takes_acknowledgements() ? found : nullptr;
}

} // namespace

fed_source::fed_source(const feed_settings& options, feed_records& records, feed_desk& desk)
    : options_(options), records_(records), desk_(desk), queue_(queue_of(*options.input)),
      ahead_({}, records.store->next()),
      has_to_reopen_(queue_ && records.identity.ended_at.has_value()) {}

fed_source::~fed_source() {
  if (!wait_for_last())
    try {
      options_.log(options_.input->name() + " did not take the last acknowledgements: "
                   + (records_.has_journal ? "a feed that continues with this journal sends them"
                                           : "it gives those records again"));
    } catch (...) { // no memory for the text
    }
}

void fed_source::begin() {
  threads_.add("feed", [this] { forget_covered(); });
  threads_.add("feed", [this] { read(); });
}

void fed_source::leave_input() noexcept {
  const mutex_lock lock{desk_.guard};
  if (!queue_ && reader_)
    reader_->interrupt();
}

/// False if it takes too long. Closes the source.
bool fed_source::wait_for_last() noexcept {
  const mutex_lock lock{desk_.guard};
  const auto limit = std::chrono::steady_clock::now() + most_farewell;
  while (is_forgetting_ && desk_.changed.wait_until(desk_.guard, limit)) {
  }
  is_over_ = true;
  if (reader_)
    reader_->interrupt();
  desk_.changed.notify_all();
  return !is_forgetting_;
}

// -- reading

void fed_source::read() noexcept {
  std::unique_ptr<record_reader> reader;
  try {
    read_all(reader);
  } catch (...) {
    fail();
  }
  const mutex_lock lock{desk_.guard};
  while (!is_over_ || is_forgetting_) // what is covered is acknowledged by the reader, too
    desk_.changed.wait(desk_.guard);
  reader_ = nullptr;
}

void fed_source::read_all(std::unique_ptr<record_reader>& by) {
  if (records_.identity.ended_at) {
    if (queue_)
      reopen(by);
    return;
  }
  thread_work work;
  while (wait_until_wanted()) {
    if (!by) {
      by = options_.input->begin();
      const mutex_lock lock{desk_.guard};
      reader_ = by.get();
      if (desk_.is_ending)
        return;
    }
    if (!note_read(by->take(*records_.store), work))
      return;
  }
}

/// So that what ranks cover from now on is acknowledged. If that cannot be, the records stay.
void fed_source::reopen(std::unique_ptr<record_reader>& by) {
  std::string problem;
  try {
    const auto first = records_.store->first();
    bool is_covered = false;
    {
      const mutex_lock lock{desk_.guard};
      while (!desk_.is_ending && desk_.server.covered() <= first)
        desk_.changed.wait(desk_.guard);
      is_covered = desk_.server.covered() > first;
    }
    if (is_covered) {
      by = options_.input->begin();
      {
        const mutex_lock lock{desk_.guard};
        reader_ = by.get();
        if (is_over_)
          by->interrupt();
      }
      by->reopen(*records_.store);
    }
  } catch (const error& x) {
    problem = x.what();
  }
  if (!problem.empty()) {
    {
      const mutex_lock lock{desk_.guard};
      reader_ = nullptr;
    }
    if (by)
      by->interrupt(); // an acknowledgement may wait for the origin
    by = nullptr;
    options_.log("what ranks have used is not acknowledged any more: " + problem);
  }
  const mutex_lock lock{desk_.guard};
  has_to_reopen_ = false;
  desk_.changed.notify_all();
}

/// False if nothing more is to be read.
bool fed_source::wait_until_wanted() {
  const mutex_lock lock{desk_.guard};
  while (!desk_.is_ending && !desk_.failure && !desk_.server.state().has_ended) {
    if (const auto wanted = desk_.server.wanted(); wanted > 0) {
      ahead_.want(wanted - 1);
      if (ahead_.wants_more())
        return true;
    }
    desk_.changed.wait(desk_.guard);
  }
  return false;
}

/// False if nothing comes any more.
bool fed_source::note_read(const record_reader::result& got, thread_work& work) {
  const auto next = records_.store->next();
  const bool has_ended = got.now == record_reader::state::ended;
  if (has_ended && records_.has_journal) // before anyone hears of it
    note_end_of_feed(options_.journal, records_.identity, next);
  {
    const mutex_lock lock{desk_.guard};
    desk_.server.spent(work.take(), {});
    const auto before = desk_.server.state().next;
    if (got.bytes > 0 || next != before) {
      ahead_.came(next, got.bytes);
      desk_.server.came(next, got.bytes + (next - before) * bytes_around_record);
    }
    if (has_ended)
      desk_.server.ended();
    desk_.tell_news();
  }
  if (has_ended)
    options_.log("the source has ended after " + std::to_string(next) + " records");
  return got.now == record_reader::state::going_on;
}

// -- forgetting

void fed_source::forget_covered() noexcept {
  {
    const mutex_lock lock{desk_.guard};
    is_forgetting_ = true;
  }
  try {
    covered_records covered{records_, queue_};
    last_told told;
    while (forget_some(covered, told)) {
    }
  } catch (...) {
    fail();
  }
  const mutex_lock lock{desk_.guard};
  is_forgetting_ = false;
  desk_.tell_all();
}

/// Waits until there is something to forget, or to tell, or the end. False after the end.
bool fed_source::forget_some(covered_records& covered, last_told& told) {
  std::string held_back;
  std::uint64_t below = 0;
  bool goes_on = true;
  {
    const mutex_lock lock{desk_.guard};
    for (;;) {
      const bool must_wait = covered.must_wait();
      below = must_wait ? 0 : desk_.server.covered();
      held_back = desk_.server.held_back();
      const bool will_open = must_wait && has_to_reopen_ && !is_over_;
      goes_on = !desk_.is_ending || (will_open && desk_.server.covered() > covered.below());
      if (!goes_on || below > covered.below() || (held_back != told.text && !held_back.empty()))
        break;
      desk_.changed.wait(desk_.guard);
    }
  }
  if (held_back != told.text && !held_back.empty()) {
    const auto now = std::chrono::steady_clock::now();
    if (told.text.empty() || now - told.at >= between_held_back) {
      options_.log(held_back);
      told.at = now;
    }
    told.text = std::move(held_back);
  }
  if (below <= covered.below())
    return goes_on;
  goes_on = covered.let_go(below) && goes_on;
  const mutex_lock lock{desk_.guard};
  desk_.server.forgot(records_.store->first());
  desk_.changed.notify_all();
  return goes_on;
}

/// The feed fails with the exception in flight.
void fed_source::fail() noexcept {
  error_details where;
  try {
    where.stage = "feed \"" + options_.name + '"';
  } catch (...) { // no memory for the name
  }
  desk_.fail(error_in_flight(errc::io, std::move(where)));
}

} // namespace leat
