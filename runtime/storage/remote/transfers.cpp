#include "runtime/storage/remote/transfers.hpp"

#include "runtime/base/metrics.hpp"
#include "runtime/base/text.hpp"
#include "runtime/base/threads/begin_thread.hpp"
#include "runtime/base/threads/fork_check.hpp"
#include "runtime/base/threads/mutex.hpp"
#include "runtime/base/utf8.hpp"
#include "runtime/storage/remote/curl_loop.hpp"
#include "runtime/storage/remote/server/server_state.hpp"
#include "runtime/storage/remote/web_request.hpp"

#include <curl/curl.h>

#include <algorithm>
#include <ctime>
#include <functional>
#include <list>
#include <map>
#include <new>
#include <thread>
#include <unordered_map>
#include <utility>

namespace leat {

namespace {

constexpr int most_redirects = 5;

/// One request for a fetch.
struct attempt {
  attempt(fetch_ptr of, server_state& to, const byte_range& asked, bool is_second)
      : fetch(std::move(of)), server(to), request(asked, is_second) {}

  fetch_ptr fetch;
  server_state& server;
  web_request request;
  std::int64_t begun = 0;
  std::uint64_t mark = 0;
  /// A later request for the same bytes is in flight, or was, or must not be sent.
  bool is_hedged = false;
};

void count_queue(server_state& server, bool is_queued, std::int64_t now, transfer_counts& to) {
  if (server.is_queued == is_queued)
    return;
  server.is_queued = is_queued;
  if (is_queued)
    to.queued.enter(now);
  else
    to.queued.leave(now);
}

/// Of a request that was answered.
void count_times(const attempt& x, std::int64_t now, transfer_counts& to) {
  const auto took = x.request.times();
  auto& way = x.server.round_trip;
  if (took.round_trip > 0)
    way = way == 0 ? took.round_trip : std::min(way, took.round_trip);
  to.requesting.fetch_add(now - x.begun, std::memory_order_relaxed);
  to.answering.fetch_add(std::max<std::int64_t>(0, took.to_answer - way),
                         std::memory_order_relaxed);
}

} // namespace

class transfers::loop : leat::not_copied {
public:
  loop(const transfer_settings& how, std::shared_ptr<transfer_counts> counts)
      : counts(std::move(counts)), how_(how) {
    thread_ = begin_thread("remote reads", [this] { run(); });
  }
  ~loop() {
    {
      const mutex_lock lock{mutex_};
      is_ending_ = true;
    }
    requests_.wake();
    thread_.join();
  }

  void begin(fetch_ptr x, const std::stop_token& stop) {
    const auto number = ++last_number_;
    x->number = number;
    tell({word::begin, number, std::move(x)});
    if (stop.stop_possible())
      add_stop(number, stop);
  }

  const std::shared_ptr<transfer_counts> counts;

private:
  enum class word : std::uint8_t { begin, stop };
  struct told {
    word what;
    std::uint64_t number;
    /// Only of a new one.
    fetch_ptr fetch;
  };
  using stop_callback = std::stop_callback<std::function<void()>>;

  void tell(told x) {
    bool is_asleep = false;
    {
      const mutex_lock lock{mutex_};
      inbox_.push_back(std::move(x));
      is_asleep = std::exchange(is_asleep_, false); // whoever is first wakes it
    }
    if (is_asleep)
      requests_.wake();
  }

  /// The fetch may have ended by the time this is called, or may end meanwhile.
  void add_stop(std::uint64_t number, const std::stop_token& stop) {
    auto callback = std::make_unique<stop_callback>(stop, [this, number] {
      tell({word::stop, number, nullptr});
    });
    const mutex_lock lock{mutex_};
    stops_inbox_.emplace_back(number, std::move(callback));
  }

  void run() {
    for (;;) {
      const bool is_ending = take_inbox();
      if (is_ending && fail_all())
        return;
      begin_what_may();
      requests_.turn(may_sleep() ? until_next_event() : 0);
      end_attempts();
    }
  }

  bool may_sleep() {
    const mutex_lock lock{mutex_};
    is_asleep_ = inbox_.empty() && !is_ending_;
    return is_asleep_;
  }

  bool take_inbox() {
    std::vector<told> now;
    std::vector<std::pair<std::uint64_t, std::unique_ptr<stop_callback>>> stops;
    bool is_ending = false;
    {
      const mutex_lock lock{mutex_};
      now.swap(inbox_);
      stops.swap(stops_inbox_);
      is_ending = is_ending_;
      is_asleep_ = false;
    }
    for (auto& x : now)
      if (x.what == word::begin)
        queue_new(std::move(x.fetch));
    for (auto& [number, callback] : stops)
      if (live_.contains(number))
        stops_[number] = std::move(callback); // those of fetches that have ended are destroyed here
    for (const auto& x : now)
      if (const auto at = live_.find(x.number); at != live_.end() && x.what != word::begin)
        stop(fetch_ptr{at->second}); // that of the map goes
    return is_ending;
  }

  server_state& server_of(const range_fetch& x) {
    const auto [at, is_new] = servers_.try_emplace(x.object().server(), nullptr);
    if (is_new)
      at->second = std::make_unique<server_state>(how_, steady_ns());
    return *at->second;
  }

  void queue_new(fetch_ptr x) {
    const auto now = steady_ns();
    x->schedule.emplace(how_.retry, x->number, now);
    live_.emplace(x->number, x);
    if (const auto& server = server_of(*x); server.given_up_until > now)
      return fail(x, errc::io, server.got, server.needed);
    queue(std::move(x));
  }
  void queue(fetch_ptr x) {
    auto& server = server_of(*x);
    (x->is_urgent ? server.urgent : server.others).push_back(std::move(x));
  }

  /// Ends it wherever it waits.
  void end_early(const fetch_ptr& x, const std::string& got, const std::string& needed) {
    auto& server = server_of(*x);
    for (auto* waiting : {&server.urgent, &server.others})
      waiting->erase(std::remove(waiting->begin(), waiting->end(), x), waiting->end());
    for (auto i = later_.begin(); i != later_.end();)
      i = i->second == x ? later_.erase(i) : std::next(i);
    fail(x, errc::io, got, needed);
  }
  void stop(const fetch_ptr& x) { end_early(x, "a read that was stopped", "a job that continues"); }

  /// Removes what is known of a fetch that does not wait for its turn: its requests are cancelled.
  void forget(const range_fetch& x) {
    for (auto i = attempts_.begin(); i != attempts_.end();)
      i = i->fetch.get() == &x ? remove(i) : std::next(i);
    stops_.erase(x.number);
    live_.erase(x.number);
  }
  void fail(const fetch_ptr& x, errc code, std::string got, std::string needed) {
    forget(*x);
    x->fail(code, std::move(got), std::move(needed));
  }

  std::list<attempt>::iterator remove(std::list<attempt>::iterator x) {
    requests_.remove(x->request.handle());
    --x->server.in_flight;
    counts->in_flight.fetch_sub(1, std::memory_order_relaxed);
    return attempts_.erase(x);
  }

  bool fail_all() {
    while (!live_.empty())
      stop(fetch_ptr{live_.begin()->second});
    for (auto& [name, server] : servers_)
      count_queue(*server, false, steady_ns(), *counts);
    return true;
  }

  void begin_what_may() {
    const auto now = steady_ns();
    while (!later_.empty() && later_.begin()->first <= now) {
      auto x = std::move(later_.begin()->second);
      later_.erase(later_.begin());
      auto& server = server_of(*x); // it has had its turn before
      (x->is_urgent ? server.urgent : server.others).push_front(std::move(x));
    }
    for (auto& [name, server] : servers_)
      while (server->has_waiting() && server->in_flight < server->flow.limit()
             && server->pause_until <= now)
        begin_attempt(server->take(), *server, now, false);
    begin_hedges(now);
    for (auto& [name, server] : servers_)
      count_queue(*server, server->has_waiting(), now, *counts);
  }

  void begin_attempt(fetch_ptr x, server_state& server, std::int64_t now, bool is_second) {
    const auto asked = x->to_ask();
    auto& made = attempts_.emplace_back(std::move(x), server, asked, is_second);
    auto& fetch = *made.fetch;
    try {
      made.request.prepare(fetch.object().place(), fetch.object().pin(), how_.connect, how_.stall,
                           fetch);
    } catch (const std::bad_alloc&) {
      const auto of = made.fetch;
      attempts_.pop_back();
      if (is_second)
        return;
      return fail(of, errc::no_resources, "no more memory",
                  "a machine, or limits of the process, that have more");
    }
    fetch.schedule->begin_attempt();
    made.begun = now;
    made.mark = server.flow.begin();
    made.is_hedged = fetch.takes_whole(); // of which each request begins anew
    ++server.in_flight;
    counts->in_flight.fetch_add(1, std::memory_order_relaxed);
    if (!is_second) {
      server.hedges.asked();
      server.retries.asked();
    }
    counts->requests.fetch_add(1, std::memory_order_relaxed);
    requests_.add(made.request.handle());
  }

  /// Sends those requests again that take too long; what is sent again may hang as well.
  void begin_hedges(std::int64_t now) {
    for (auto& x : attempts_) { // new ones are appended, and passed over
      if (x.is_hedged || x.begun + x.server.hedges.delay() > now || x.server.pause_until > now
          || !x.server.has_answered)
        continue;
      x.is_hedged = true; // also if no more of these may be sent
      if (!x.server.hedges.take())
        continue;
      counts->hedges.fetch_add(1, std::memory_order_relaxed);
      begin_attempt(x.fetch, x.server, now, true);
    }
  }

  /// In milliseconds.
  int until_next_event() const {
    constexpr std::int64_t longest = 60'000'000'000;
    const auto now = steady_ns();
    auto next = now + longest;
    if (!later_.empty())
      next = std::min(next, later_.begin()->first);
    for (const auto& [name, server] : servers_)
      if (server->pause_until > now && server->has_waiting())
        next = std::min(next, server->pause_until);
    for (const auto& x : attempts_)
      if (!x.is_hedged && x.server.has_answered)
        next = std::min(next, std::max(x.begun + x.server.hedges.delay(), x.server.pause_until));
    return static_cast<int>(std::max<std::int64_t>(0, next - now + 999'999) / 1'000'000);
  }

  void end_attempts() {
    while (const auto ended = requests_.next_ended()) {
      const auto at = std::find_if(attempts_.begin(), attempts_.end(), [&](const attempt& x) {
        return x.request.handle() == ended->easy;
      });
      if (at != attempts_.end())
        end(at, ended->result);
    }
  }

  void end(std::list<attempt>::iterator at, int result) {
    const auto now = steady_ns();
    std::list<attempt> ended;
    requests_.remove(at->request.handle());
    --at->server.in_flight;
    counts->in_flight.fetch_sub(1, std::memory_order_relaxed);
    ended.splice(ended.end(), attempts_, at);
    auto& x = ended.front();
    const auto fetch = x.fetch;
    const auto outcome = x.request.finish(result, *fetch);
    counts->bytes.fetch_add(outcome.bytes, std::memory_order_relaxed);
    if (x.request.head().status != 0) {
      x.server.has_answered = true;
      x.server.flow.answered(x.server.has_waiting(), outcome.bytes, now);
      count_times(x, now, *counts);
      if (const auto time = server_time(x.request.head()); time && x.request.answered_at() != 0)
        counts->clock_ahead.store(*time - x.request.answered_at(), std::memory_order_relaxed);
    }
    if (outcome.bytes > 0 && !x.request.is_second())
      fetch->schedule->progressed(now);
    if (outcome.bytes > 0 || outcome.is == web_outcome::kind::complete)
      x.server.was_of_use(now);
    switch (outcome.is) {
    case web_outcome::kind::complete:
      return complete(x, now);
    case web_outcome::kind::elsewhere:
      return follow(x, now);
    case web_outcome::kind::failed:
      return fail(fetch, outcome.code, with_attempts(outcome.got, *fetch, now), outcome.needed);
    case web_outcome::kind::again:
      return again(x, outcome, now);
    }
  }

  void complete(attempt& x, std::int64_t now) {
    if (!x.is_hedged && !x.request.is_second())
      x.server.hedges.took(now - x.begun);
    if (x.request.is_second())
      counts->hedges_won.fetch_add(1, std::memory_order_relaxed);
    const auto fetch = x.fetch;
    forget(*fetch);
    fetch->succeed();
  }

  void follow(attempt& x, std::int64_t now) {
    const auto fetch = x.fetch;
    if (const auto* signer = fetch->object().signer(); signer && !signer->follows_redirects()) {
      const auto& region = x.request.head().service.bucket_region;
      return fail(fetch, errc::io,
                  region.empty() ? std::string{"a redirect"}
                                 : "a redirect to the region " + as_utf8(region),
                  signer->advice());
    }
    const auto to = x.request.redirect_target();
    if (!to || ++fetch->redirects > most_redirects) {
      return fail(fetch, errc::io,
                  to ? "more than " + std::to_string(most_redirects) + " redirects"
                     : std::string{"a redirect to an address that is not allowed"},
                  "an object, or redirects to https, or of http to http");
    }
    fetch->object().move_to(*to);
    if (!is_in_flight(*fetch))
      begin_attempt(fetch, x.server, now, false);
  }

  bool is_in_flight(const range_fetch& fetch) const {
    return std::any_of(attempts_.begin(), attempts_.end(),
                       [&](const attempt& x) { return x.fetch.get() == &fetch; });
  }

  void again(attempt& x, const web_outcome& outcome, std::int64_t now) {
    const auto fetch = x.fetch;
    if (outcome.is_wrong)
      counts->wrong.fetch_add(1, std::memory_order_relaxed);
    const auto wait = wait_asked_for(x.request.head());
    const auto asked_for = wait ? std::optional{std::min(static_cast<std::int64_t>(*wait * 1e9),
                                                         how_.retry.patience / 2)}
                                : std::nullopt;
    if (outcome.is_too_many) {
      counts->throttled.fetch_add(1, std::memory_order_relaxed);
      x.server.flow.refused(x.mark);
      if (asked_for)
        x.server.pause_until = std::max(x.server.pause_until, now + *asked_for);
    }
    if (is_in_flight(*fetch))
      return; // the other one may still bring it
    if (outcome.is_wrong && !fetch->schedule->take_wrong()) {
      return fail(fetch, errc::io, with_attempts(outcome.got, *fetch, now), outcome.needed);
    }
    // Wrong answers are few by themselves.
    const bool has_budget = outcome.is_wrong || x.server.retries.take();
    const auto at = fetch->schedule->next(now, asked_for, has_budget);
    const bool is_hopeless =
        !x.server.has_answered && fetch->schedule->waited(now) > how_.first_answer.count();
    if (!at || is_hopeless) {
      const auto got = with_attempts(outcome.got, *fetch, now);
      const bool is_given_up = x.server.give_up(got, outcome.needed, how_, now);
      fail(fetch, errc::io, got, outcome.needed);
      return is_given_up ? end_those_who_wait(x.server, now) : void();
    }
    counts->retries.fetch_add(1, std::memory_order_relaxed);
    later_.emplace(*at, fetch);
  }

  /// Those who have waited for about as long for a server that was given up.
  void end_those_who_wait(server_state& server, std::int64_t now) {
    std::vector<fetch_ptr> all;
    for (const auto& [number, x] : live_)
      if (&server_of(*x) == &server && x->schedule->waited(now) > how_.retry.patience / 2)
        all.push_back(x);
    for (const auto& x : all)
      end_early(x, server.got, server.needed);
  }

  static std::string with_attempts(const std::string& got, const range_fetch& fetch,
                                   std::int64_t now) {
    const auto& x = *fetch.schedule;
    const auto asked = fetch.asked_text();
    return got + ", after " + counted(static_cast<std::uint64_t>(x.attempts()), "request")
           + (asked.empty() ? "" : " for " + asked) + " and "
           + std::to_string(x.waited(now) / 1'000'000'000) + " s without a byte";
  }

  const transfer_settings how_;
  std::atomic<std::uint64_t> last_number_{0};
  const fork_hazard hazard_;
  curl_loop requests_;
  mutex mutex_;
  std::vector<told> inbox_ LEAT_GUARDED_BY(mutex_);
  std::vector<std::pair<std::uint64_t, std::unique_ptr<stop_callback>>>
      stops_inbox_ LEAT_GUARDED_BY(mutex_);
  bool is_ending_ LEAT_GUARDED_BY(mutex_) = false;
  /// It waits, and has to be told of what is in the inbox.
  bool is_asleep_ LEAT_GUARDED_BY(mutex_) = false;

  // Used by the thread only:
  std::map<std::string, std::unique_ptr<server_state>> servers_;
  std::list<attempt> attempts_;
  /// Fetches that wait for a time.
  std::multimap<std::int64_t, fetch_ptr> later_;
  std::unordered_map<std::uint64_t, fetch_ptr> live_;
  std::unordered_map<std::uint64_t, std::unique_ptr<stop_callback>> stops_;
  std::thread thread_;
};

transfers::transfers(const transfer_settings& how, std::shared_ptr<transfer_counts> counts) {
  static const auto is_ready = ::curl_global_init(CURL_GLOBAL_DEFAULT);
  if (is_ready != CURLE_OK)
    throw error(errc::no_resources,
                {.stage = "remote reads", .got = ::curl_easy_strerror(is_ready)});
  loop_ = std::make_unique<loop>(how, std::move(counts));
}

transfers::~transfers() = default;

void transfers::begin(std::shared_ptr<range_fetch> x, const std::stop_token& stop) {
  loop_->begin(std::move(x), stop);
}

const transfer_counts& transfers::counts() const noexcept {
  return *loop_->counts;
}

} // namespace leat
