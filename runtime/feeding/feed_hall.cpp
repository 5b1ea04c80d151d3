#include "runtime/feeding/feed_hall.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/metrics.hpp"
#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/feeding/last_heard.hpp"
#include "runtime/network/links/link_error.hpp"
#include "runtime/network/links/link_hello.hpp"
#include "runtime/network/links/refusal_log.hpp"
#include "runtime/sources/feed/feed_source.hpp"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace leat {

namespace {

constexpr std::int64_t hall_second = 1'000'000'000;
/// A feed that was not heard of for so long is given up.
constexpr std::int64_t most_silence_of_feed = 10 * hall_second;
/// One that was heard of so lately is there: another process is not to take its place.
constexpr std::int64_t silence_of_present_feed = 3 * hall_second;
/// Of records, besides what the stations' windows say: enough that none waits for a grant.
constexpr std::int64_t window_of_records = std::int64_t{8} << 20;
/// For feeds that end the connection themselves, once they hear that the job is over.
constexpr std::chrono::seconds hall_farewell{2};
/// Before another try without memory.
constexpr std::chrono::milliseconds hall_pause{100};
/// Characters of a version that are repeated to users.
constexpr std::size_t most_told_version = 64;

feed_hall_config completed(feed_hall_config x) {
  if (!x.log)
    x.log = [](const std::string&) {};
  if (!x.judge)
    x.judge = [](const feed_offer& own) {
      return std::optional{feed_hall_config::stream{own.stream.id, own.has_journal}};
    };
  return x;
}

} // namespace

/// One feed's connection. Where it is not said otherwise, of the hall's mutex.
class feed_hall::link final : public bulk_owner {
public:
  link(feed_hall& of, std::uint64_t its_number, const connected_peer& peer)
      : number(its_number), address(peer.address), is_of_rank(peer.role == link_role::rank),
        of_(of) {}
  /// Waits for the thread that calls back.
  ~link() override {
    out->close();
    connection_.reset();
  }

  /// Takes the peer over. Its thread calls back.
  void begin(connected_peer peer) {
    connection_.emplace(std::move(peer), bulk_rules_from(link_role::feed), *this);
    out->open(*connection_);
    out->grant(window_of_records);
  }

  std::optional<bulk_room> room_for(const bulk_head& x) override {
    payload_ = std::make_shared_for_overwrite<char[]>(x.payload);
    return bulk_room{.parts = {std::span{payload_.get(), x.payload}}, .owner = payload_};
  }
  void receive(const bulk_head& x, bulk_room) override {
    const auto payload = std::exchange(payload_, nullptr);
    if (x.kind == frame_kind::records)
      of_.hear_records(*this, payload, {payload.get(), payload ? x.payload : 0});
    else if (x.number == static_cast<std::uint64_t>(feed_note::offer))
      of_.hear_offer(*this, x.words);
    out->grant(x.cost());
    std::shared_ptr<feed_station> to;
    {
      const mutex_lock lock{of_.mutex_};
      heard.hear();
      to = station;
    }
    if (!to)
      return;
    to->costs.wire_bytes.add(header_bytes + static_cast<std::uint64_t>(x.cost() - cost_of_frame));
    to->costs.processor.add(work_.take()); // all that this thread does is for the feed
  }
  void may_send() override { out->flush(); }
  void ended(const std::string& why) noexcept override { of_.note_end(*this, why); }

  std::int64_t silence(std::int64_t now) noexcept {
    return heard.silence(connection_ ? connection_->received() : 0, now);
  }

  const std::uint64_t number;
  const std::string address;
  /// A rank serves sources of its own, and a feed those that have a name in the pipeline.
  const bool is_of_rank;
  const std::shared_ptr<link_out> out = std::make_shared<link_out>();
  last_heard heard = {};
  /// Null before the feed was taken.
  std::shared_ptr<feed_station> station = {};
  /// What it has said last.
  std::optional<feed_offer> offer = {};
  /// When it was told why it is not to serve; it is cut off a while later, if it is still there.
  std::int64_t refused_at = 0;
  bool has_ended = false;
  std::string why_ended = {};

private:
  feed_hall& of_;
  std::optional<bulk_connection> connection_;
  // Only for the connection's thread: the frame that is coming, and what it has cost.
  std::shared_ptr<char[]> payload_;
  thread_work work_{0};
};

feed_hall::feed_hall(feed_hall_config config) : config_(completed(std::move(config))) {
  auto guard = config_.guard;
  guard.rules.as = link_role::rank;
  for (const auto& x : config_.stations)
    guard.rules.roles.add(is_own_source(x->name) ? link_role::rank : link_role::feed);
  guard.log = config_.log;
  guard_ = std::make_unique<port_guard>(std::move(guard));
  thread_ = begin_thread("feeds", [this] { run(); });
  guard_->begin([this](connected_peer x) { admit(std::move(x)); });
}

feed_hall::~feed_hall() {
  guard_ = nullptr;
  say_farewell();
  std::map<std::uint64_t, std::unique_ptr<link>> links;
  {
    const mutex_lock lock{mutex_};
    links.swap(links_);
  }
  for (const auto& [number, x] : links)
    if (x->station)
      x->station->lost(*x->out);
  links.clear(); // waits for their threads
}

/// Says what could have waited, and why the rank leaves; a feed then ends the connection, once it
/// has heard all of that.
void feed_hall::say_farewell() {
  {
    const mutex_lock lock{mutex_};
    is_ending_ = true;
    changed_.notify_all();
  }
  thread_.join();
  std::vector<link*> told;
  try {
    for (const auto& x : config_.stations)
      x->tick(steady_ns());
  } catch (...) { // no memory: records that were used come again
  }
  const mutex_lock lock{mutex_};
  try {
    for (const auto& [number, x] : links_)
      if (x->station && !x->has_ended) {
        x->out->send(frame_of(is_done_ ? feed_note::done : feed_note::leaving));
        told.push_back(x.get());
      }
  } catch (...) { // no memory: they find that the connection has ended
  }
  const auto soon = std::chrono::steady_clock::now() + hall_farewell;
  const auto has_ended = [](const link* x) { return x->has_ended; };
  while (!std::all_of(told.begin(), told.end(), has_ended) && changed_.wait_until(mutex_, soon)) {
  }
}

// -- connections

void feed_hall::admit(connected_peer peer) {
  const mutex_lock lock{mutex_};
  if (is_ending_)
    return;
  const auto number = ++last_link_;
  auto& made = links_[number] = std::make_unique<link>(*this, number, peer);
  try {
    made->begin(std::move(peer));
  } catch (...) { // no thread, no memory: the feed tries again
    links_.erase(number);
  }
}

void feed_hall::hear_offer(link& from, std::string_view bytes) {
  auto offer = decode_feed_offer(bytes);
  if (!offer)
    break_link("an offer that is none", "one of leat " + own_version());
  std::shared_ptr<feed_station> station;
  {
    const mutex_lock lock{mutex_};
    station = from.station;
    from.offer = *offer; // also if it has a station, which may not have taken it yet
    if (!station) {
      has_news_ = true;
      changed_.notify_all();
    }
  }
  if (station)
    station->heard(*from.out, *offer);
}

void feed_hall::hear_records(link& from, const std::shared_ptr<const void>& owner,
                             std::string_view payload) {
  std::shared_ptr<feed_station> station;
  {
    const mutex_lock lock{mutex_};
    station = from.station;
  }
  if (!station || !station->receive(*from.out, owner, payload))
    break_link("records that were not asked for", "those that the rank has asked for");
}

void feed_hall::note_end(link& of, const std::string& why) noexcept {
  const mutex_lock lock{mutex_};
  of.has_ended = true;
  try {
    of.why_ended = why;
  } catch (...) { // no memory for the text
  }
  has_news_ = true;
  changed_.notify_all();
}

// -- the hall's thread

std::vector<std::unique_ptr<feed_hall::link>> feed_hall::take_ended() {
  std::vector<std::unique_ptr<link>> ended;
  ended.reserve(links_.size()); // nothing is to throw once a link is in there
  for (auto x = links_.begin(); x != links_.end();) {
    const auto next = std::next(x);
    if (x->second->has_ended) {
      ended.push_back(std::move(x->second));
      links_.erase(x);
    }
    x = next;
  }
  return ended;
}

void feed_hall::tick(std::int64_t now) {
  for (const auto& [number, x] : links_)
    if ((x->refused_at > 0 && now - x->refused_at >= hall_second)
        || x->silence(now) > most_silence_of_feed)
      x->out->cut();
    else if (x->out->is_empty())
      x->out->send(frame_of(feed_note::alive));
}

void feed_hall::run() {
  refusal_log refusals{config_.log};
  std::int64_t next_tick = 0;
  for (bool goes_on = true; goes_on;)
    try {
      goes_on = turn(refusals, next_tick);
    } catch (
        ...) { // no memory, or no answer of the judge: the next turn does what this one has not
      const mutex_lock lock{mutex_};
      has_news_ = true;
      if (!is_ending_)
        changed_.wait_until(mutex_, std::chrono::steady_clock::now() + hall_pause);
      goes_on = !is_ending_;
    }
}

/// False at the end.
bool feed_hall::turn(refusal_log& refusals, std::int64_t& next_tick) {
  const auto now = steady_ns();
  const bool is_due = now >= next_tick;
  std::vector<std::unique_ptr<link>> ended;
  std::vector<std::pair<link*, feed_offer>> offers; // only this thread takes links away
  {
    const mutex_lock lock{mutex_};
    if (is_ending_)
      return false;
    has_news_ = false;
    if (is_due) {
      next_tick = now + hall_second;
      tick(now);
    }
    for (const auto& [number, x] : links_)
      if (x->offer && !x->station && x->refused_at == 0 && !x->has_ended)
        offers.emplace_back(x.get(), *x->offer);
    ended = take_ended();
  }
  part_from(ended, refusals);
  ended.clear(); // waits for their threads
  bool is_open = false;
  for (const auto& [x, offer] : offers)
    try {
      is_open = !seat(*x, offer) || is_open;
    } catch (...) {
      x->out->cut(); // the feed tries again
      throw;
    }
  if (is_due)
    for (const auto& x : config_.stations)
      x->tick(now);
  const mutex_lock lock{mutex_};
  if (!has_news_ && !is_ending_ && !is_open)
    changed_.wait_until(mutex_,
                        std::chrono::steady_clock::time_point{std::chrono::nanoseconds{next_tick}});
  return !is_ending_;
}

void feed_hall::part_from(const std::vector<std::unique_ptr<link>>& ended, refusal_log& refusals) {
  for (const auto& x : ended) // before anything that may throw: the links are gone afterwards
    if (x->station)
      x->station->lost(*x->out);
  for (const auto& x : ended)
    if (x->station)
      config_.log("the feed \"" + x->station->name + "\" at " + x->address + " is gone"
                  + (x->why_ended.empty() ? "" : ": " + x->why_ended));
    else if (!x->why_ended.empty() && x->refused_at == 0)
      refusals.add(x->address, x->why_ended, std::chrono::steady_clock::now());
}

void feed_hall::refuse(link& x, const std::string& why, feed_note by) {
  config_.log("a feed at " + x.address + " is refused: " + why);
  const mutex_lock lock{mutex_};
  x.refused_at = steady_ns();
  x.out->send(frame_of(by, why.substr(0, most_refusal_text)));
}

/// Whether a process that is there serves these records, and it is not the one that offers them. A
/// copy of a journal has its id, and may have gone on in another way since.
bool feed_hall::is_served_by_other(const feed_station& at, const feed_offer& x) {
  const auto now = steady_ns();
  return std::any_of(links_.begin(), links_.end(), [&](const auto& each) {
    auto& present = *each.second;
    return present.station.get() == &at && !present.has_ended && !present.out->is_cut()
           && present.offer->process != x.process && present.silence(now) < silence_of_present_feed;
  });
}

/// Takes the feed, or refuses it. False if that is open.
bool feed_hall::seat(link& x, const feed_offer& offer) {
  const auto refused = [&](const std::string& why, feed_note by = feed_note::refused) {
    refuse(x, why, by);
    return true;
  };
  const auto& name = offer.stream.name;
  if (x.is_of_rank != is_own_source(name))
    return refused(x.is_of_rank ? "a rank may not serve feed \"" + name + '"'
                                : "only a rank may serve \"" + name + '"');
  if (offer.version != own_version())
    return refused("it has leat " + offer.version.substr(0, most_told_version)
                   + ", and this rank leat " + own_version());
  const auto found = std::find_if(config_.stations.begin(), config_.stations.end(),
                                  [&](const auto& at) { return at->name == name; });
  if (found == config_.stations.end())
    return refused("this job reads no feed \"" + name + '"');
  if (const auto why = (*found)->refusal_of(offer); !why.empty())
    return refused(why); // other ranks need not hear of it
  const auto decided = config_.judge(offer);
  if (!decided)
    return false;
  if (decided->id != offer.stream.id) {
    (*found)->expect(*decided, true);
    return refused(text_of_others(name, decided->has_journal));
  }
  bool is_free = false;
  {
    const mutex_lock lock{mutex_};
    is_free = !is_served_by_other(**found, offer);
    if (is_free)
      x.station = *found; // records may come before `join` returns
  }
  if (!is_free)
    return refused("another process serves feed \"" + name
                       + "\", with the same journal or a copy of it: end one of them",
                   feed_note::served);
  const auto why = (*found)->join(x.out, offer, x.address);
  std::optional<feed_offer> newest;
  {
    const mutex_lock lock{mutex_};
    newest = x.offer;
    if (!why.empty())
      x.station = nullptr;
  }
  if (!why.empty())
    return refused(why);
  config_.log("the feed \"" + name + "\" at " + x.address + " serves this rank");
  (*found)->heard(*x.out, *newest);
  return true;
}

} // namespace leat
