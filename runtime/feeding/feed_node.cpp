#include "runtime/feeding/feed_node.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/feeding/fed_source.hpp"
#include "runtime/feeding/feed_notes.hpp"
#include "runtime/feeding/last_heard.hpp"
#include "runtime/lending/waiting_frames.hpp"
#include "runtime/network/links/bulk_connection.hpp"
#include "runtime/network/links/link_error.hpp"
#include "runtime/network/links/payload_room.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace leat {

namespace {

constexpr std::int64_t feed_second = 1'000'000'000;
/// A rank that was not heard of for so long is given up.
constexpr std::int64_t most_silence_of_rank = 10 * feed_second;
/// Bytes of what ranks say: they say little.
constexpr std::int64_t window_of_wants = std::int64_t{4} << 20;
/// Records that go together have so many bytes, or are alone.
constexpr std::size_t most_frame_of_records = std::size_t{1} << 18;
constexpr std::size_t most_records = 2048;

std::chrono::steady_clock::time_point time_point_of(std::int64_t ns) {
  return std::chrono::steady_clock::time_point{std::chrono::nanoseconds{ns}};
}

} // namespace

/// A rank, as long as its connection lasts. Where it is not said otherwise, of the node's mutex.
class feed_node::session final : public bulk_owner {
public:
  session(feed_node& of, std::uint64_t its_number, std::string its_address)
      : number(its_number), address(std::move(its_address)), of_(of) {}
  /// Waits for the thread that calls back.
  ~session() override { connection_.reset(); }

  /// Takes the peer over. Its thread calls back, and waits for the mutex.
  void begin(connected_peer peer) {
    connection_.emplace(std::move(peer), bulk_rules_to_feed(), *this);
    wire = &*connection_;
  }

  std::optional<bulk_room> room_for(const bulk_head& x) override {
    return payload_.take(x.payload);
  }
  void receive(const bulk_head& x, bulk_room) override {
    if (x.kind == frame_kind::wants)
      of_.hear_wants(*this, payload_.received(x.payload));
    else
      of_.hear_note(*this, x);
    const mutex_lock lock{of_.desk_.guard};
    heard.hear();
    of_.desk_.server.spent({}, work_.take());
    wire->grant(x.cost());
  }

  void may_send() override {
    const mutex_lock lock{of_.desk_.guard};
    out.flush(*wire);
    news.notify_all();
  }
  void ended(const std::string& why) noexcept override { of_.note_end(*this, why); }

  const std::uint64_t number;
  const std::string address;
  condition_variable news = {};
  waiting_frames out = {};
  last_heard heard = {};
  /// What the rank has said last.
  std::optional<lanes_of_rank> place = {};
  bool has_ended = false;
  std::string why_ended = {};
  /// Why it ends, if that is known better than by the connection.
  std::string reason = {};
  /// The rank takes no records of this feed.
  bool is_refused = false;
  /// That, or the rank takes leave.
  bool is_over = false;
  /// There until this is gone.
  bulk_connection* wire = nullptr;

private:
  feed_node& of_;
  std::optional<bulk_connection> connection_;
  // Only for the connection's thread: the frame that is coming, and what it has cost.
  payload_room payload_;
  thread_work work_{0};
};

feed_node::feed_node(feed_settings settings, find_ranks find)
    : options_(checked(std::move(settings))), find_(std::move(find)),
      certificates_(certificates_in(options_.certificates, {options_.role})),
      records_(open_records(options_)),
      desk_(feed_server{records_.offer(), {.memory = options_.memory}}, options_.log) {}

feed_node::~feed_node() = default;

void feed_node::run() {
  const std::stop_callback ends{options_.stop, [this] { end(); }};
  {
    fed_source source{options_, records_, desk_};
    const std::stop_callback leaves{options_.stop, [&] { source.leave_input(); }};
    rank_visits{
        {.join = options_.join,
         .as = options_.role,
         .token = options_.token,
         .option = "feed.join",
         .most_ranks = most_ranks_of_feed,
         .asks_rarely = false, // there is one, and a rank that comes back waits for it
         .log = options_.log},
        find_,
        certificates_,
        {.begin = [&] { source.begin(); },
         .help = [this](connected_peer peer, rank_line& of) { return keep(std::move(peer), of); },
         .wait_until = [this](std::int64_t time) { return wait_until(time); },
         .end = [this] { end(); },
         .stop = stop_}}
        .run();
  } // closes the source
  const mutex_lock lock{desk_.guard};
  if (desk_.failure)
    throw error(*desk_.failure);
}

bool feed_node::wait_until(std::int64_t time) {
  const mutex_lock lock{desk_.guard};
  while (!desk_.is_ending && steady_ns() < time)
    desk_.changed.wait_until(desk_.guard, time_point_of(time));
  return !desk_.is_ending;
}

void feed_node::end() noexcept {
  stop_.set();
  desk_.end();
}

// -- ranks

std::shared_ptr<feed_node::session> feed_node::begin_session(connected_peer peer) {
  std::uint64_t number = 0;
  {
    const mutex_lock lock{desk_.guard};
    number = ++last_session_;
  }
  auto made = std::make_shared<session>(*this, number, peer.address);
  const mutex_lock lock{desk_.guard}; // it is let go before `made` is, whose thread may wait for it
  sessions_[number] = made;
  try {
    desk_.ranks[number] = &made->news;
    made->begin(std::move(peer));
    made->wire->grant(window_of_wants);
    desk_.server.join(number);
  } catch (...) {
    sessions_.erase(number);
    desk_.ranks.erase(number);
    throw;
  }
  return made;
}

/// As long as the rank is there. False if it did not want this feed.
bool feed_node::keep(connected_peer peer, rank_line& of) {
  const auto with = begin_session(std::move(peer));
  try {
    serve(*with);
  } catch (...) {
    forget(*with);
    throw;
  }
  forget(*with);
  std::string why;
  bool has_served = false;
  bool is_refused = false;
  {
    const mutex_lock lock{desk_.guard};
    why = with->reason.empty() ? with->why_ended : with->reason;
    has_served = with->place.has_value();
    is_refused = with->is_refused;
    if (desk_.is_ending)
      return has_served;
  }
  if (is_refused && options_.refused)
    options_.refused(with->address, why);
  const auto because = why.empty() ? why : ": " + why;
  if (has_served) {
    of.told.clear();
    options_.log("does not serve the rank at " + with->address + " any more" + because);
  } else {
    of.log_once("does not serve the rank at " + with->address + because);
  }
  return has_served;
}

void feed_node::serve(session& with) {
  mutex_lock lock{desk_.guard};
  auto next_sign = steady_ns() + feed_second;
  thread_work work;
  while (!with.has_ended && !with.is_over && !desk_.is_ending) {
    const auto now = steady_ns();
    if (with.heard.silence(with.wire->received(), now) > most_silence_of_rank) {
      with.reason = "nothing was heard of it for 10 s";
      return;
    }
    const bool is_due = now >= next_sign;
    if (is_due)
      next_sign = now + feed_second;
    if (with.out.is_empty()) { // once a second an offer is the sign that this feed is there
      if (const auto offer = desk_.server.take_offer(with.number, is_due)) {
        with.out.send(*with.wire, frame_of(feed_note::offer, encode(*offer)));
        continue;
      }
      if (const auto some = desk_.server.take_for(with.number, most_records); !some.is_empty()) {
        lock.unlock();
        send_records(with, some);
        lock.lock();
        desk_.server.spent({}, work.take());
        continue;
      }
    }
    with.news.wait_until(desk_.guard, time_point_of(next_sign));
  }
}

/// Sends these, as far as one frame and the rank's window have room.
void feed_node::send_records(session& to, const served_rank::portion& some) {
  feed_record_writer records;
  sample holds;
  served_rank::portion left;
  bool any_is_gone = false;
  const auto add = [&](std::uint64_t number) {
    if (records.bytes() >= most_frame_of_records)
      return false; // without a look, which may be one at the disk
    const auto found = find(number, holds);
    any_is_gone = any_is_gone || !found;
    if (!found)
      return true;
    const auto content = found->record.content;
    const bool has_room =
        records.is_empty() || records.bytes() + content.size() <= most_frame_of_records;
    if (has_room)
      records.add({number, content}, found->owner);
    return has_room;
  };
  try {
    auto next = std::find_if_not(some.urgent.begin(), some.urgent.end(), add);
    left.urgent.assign(next, some.urgent.end());
    next = std::find_if_not(some.others.begin(), some.others.end(), [&](std::uint64_t number) {
      return left.urgent.empty() && records.bytes() < some.room && add(number);
    });
    left.others.assign(next, some.others.end());
  } catch (const error& problem) {
    return desk_.fail(problem);
  }
  const auto count = records.num_records();
  const auto bytes = records.bytes();
  std::optional<bulk_frame> frame;
  if (!records.is_empty()) {
    auto payload = records.take();
    frame = bulk_frame{.kind = frame_kind::records,
                       .payload = std::move(payload.parts),
                       .owner = std::move(payload.owner)};
  }
  const mutex_lock lock{desk_.guard};
  if (any_is_gone)
    desk_.server.released(to.number, records_.store->first());
  desk_.server.sent(to.number, count, bytes, left);
  if (frame && !to.has_ended)
    to.out.send(*to.wire, std::move(*frame));
}

/// Nothing if the record was released meanwhile. It may lie in `holds`, up to the next call.
std::optional<feed_records::found> feed_node::find(std::uint64_t number, sample& holds) const {
  try {
    auto found = records_.read(number, holds);
    if (const auto size = found.record.content.size(); size > most_record_bytes)
      throw_error(errc::io, "feed \"" + options_.name + '"',
                  "record " + std::to_string(number) + " with " + std::to_string(size) + " bytes",
                  "records of at most " + std::to_string(most_record_bytes)
                      + ": larger ones belong in a store, and their names in the feed");
    return found;
  } catch (const error& problem) {
    if (problem.code() != errc::not_found || number >= records_.store->first())
      throw;
    return std::nullopt;
  }
}

/// Nothing is said to the rank from here on.
void feed_node::forget(session& x) noexcept {
  const mutex_lock lock{desk_.guard};
  x.wire->cut();
  sessions_.erase(x.number);
  desk_.ranks.erase(x.number);
  desk_.server.lost(x.number);
  const auto& has = desk_.server.state();
  const bool are_done =
      has.has_ended && done_.world_size > 0 && done_.ranks.size() == done_.world_size;
  if (!are_done && !(desk_.failure && x.place && sessions_.empty()))
    return;
  desk_.is_ending = true;
  stop_.set();
  desk_.tell_all();
}

// -- what ranks say

void feed_node::hear_wants(session& from, std::string_view bytes) {
  const auto want = decode_feed_want(bytes);
  bool is_first = false;
  {
    const mutex_lock lock{desk_.guard};
    if (!want || !desk_.server.heard(from.number, *want))
      break_link("a rank that asks for what it may not have", "what a rank of this job asks for");
    is_first = !from.place;
    from.place = want->place;
    if (is_first) // it may have gone back to an earlier set
      done_.ranks.erase(want->place.rank);
    from.news.notify_all();
    desk_.changed.notify_all();
  }
  if (is_first)
    options_.log("serves rank " + std::to_string(want->place.rank) + " of "
                 + std::to_string(want->place.world_size) + " at " + from.address);
}

void feed_node::hear_note(session& from, const bulk_head& head) {
  const mutex_lock lock{desk_.guard};
  const bool is_refused = head.number == static_cast<std::uint64_t>(feed_note::refused);
  if (is_refused || head.number == static_cast<std::uint64_t>(feed_note::served)) {
    from.reason = std::string{head.words.substr(0, most_refusal_text)};
    from.is_refused = is_refused;
    from.is_over = true;
  }
  if (head.number == static_cast<std::uint64_t>(feed_note::done) && from.place) {
    if (std::exchange(done_.world_size, from.place->world_size) != from.place->world_size)
      done_.ranks.clear();
    done_.ranks.insert(from.place->rank);
    from.reason = "it has had all records";
    from.is_over = true;
  }
  if (head.number == static_cast<std::uint64_t>(feed_note::leaving)) {
    from.reason = "it has left";
    from.is_over = true;
  }
  from.news.notify_all();
}

void feed_node::note_end(session& of, const std::string& why) noexcept {
  const mutex_lock lock{desk_.guard};
  of.has_ended = true;
  try {
    of.why_ended = why;
  } catch (...) { // no memory for the text
  }
  of.news.notify_all();
}

} // namespace leat
