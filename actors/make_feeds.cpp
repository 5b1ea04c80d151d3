#include "actors/make_feeds.hpp"

#include "actors/cluster/shared_member.hpp"
#include "actors/make_lender.hpp"
#include "runtime/feeding/remote_feed.hpp"
#include "runtime/network/address.hpp"
#include "runtime/sources/feed/feed_source.hpp"

#include <leat/notice.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace leat {

namespace {

/// In which the coordinator usually answers.
constexpr std::chrono::milliseconds moment{250};

/// Without a word for so long, and without a lease, this process may have been replaced.
constexpr std::chrono::seconds most_silence_of_coordinator{10};

/// Asks the coordinator which records serve the job.
std::optional<feed_hall_config::stream> judged(shared_member& place, const feed_offer& x) {
  const feed_claim own{.name = x.stream.name,
                       .high = x.stream.id.high,
                       .low = x.stream.id.low,
                       .has_journal = x.has_journal};
  place.state([&](member& to) { to.claim(own); });
  std::optional<feed_hall_config::stream> decided;
  const auto is_decided = [&](const member& of) {
    if (const auto* found = of.decided_feed(own.name))
      decided = {{.low = found->low, .high = found->high}, found->has_journal};
    return decided.has_value();
  };
  place.wait_until(is_decided, std::chrono::steady_clock::now() + moment);
  return decided;
}

feed_stats stats_of(const feed_tally& x) {
  using std::chrono::nanoseconds;
  const auto ns = [](std::uint64_t n) { return nanoseconds{static_cast<nanoseconds::rep>(n)}; };
  return {.name = x.name,
          .at = x.at,
          .has_journal = x.has_journal,
          .has_ended = x.has_ended,
          .records_read = x.records_read,
          .reached = x.reached,
          .lag = x.records_read - std::min(x.records_read, x.reached),
          .needed_from = x.needed_from,
          .records_taken = x.records_taken,
          .records_received = x.records_received,
          .bytes_received = x.bytes_received,
          .wire_bytes = x.wire_bytes,
          .starved = nanoseconds{x.starved},
          .fetching = nanoseconds{x.fetching},
          .waited = nanoseconds{x.waited},
          .processor = nanoseconds{x.processor},
          .records_sent = x.costs.records_sent,
          .bytes_sent = x.costs.bytes_sent,
          .reading = ns(x.costs.reading_ns),
          .sending = ns(x.costs.sending_ns)};
}

feed_progress progress_of(const feed_tally& x) {
  return {.name = x.name,
          .at = x.at,
          .has_journal = x.has_journal,
          .records_read = x.records_read,
          .reached = x.reached,
          .needed_from = x.needed_from,
          .records_received = x.records_received,
          .bytes_received = x.bytes_received,
          .waited_ns = static_cast<std::uint64_t>(x.starved + x.fetching)};
}

void tell_of_feed(const std::string& text) {
  notice("loader: " + text);
}

bool has_several_processes(const loader_options& x) {
  return x.cluster && (x.cluster->is_elastic() || x.world_size > 1);
}

/// A job whose coordinator is at loopback is on one machine, and its certificates may name no other
/// address.
std::string place_of_feeds(const loader_options& x) {
  if (!x.feeds_at.empty())
    return x.feeds_at;
  if (!x.cluster || x.cluster->address.empty())
    return std::string{any_place};
  auto at = parse_address(x.cluster->address, "cluster.address", port_rule::any);
  if (!is_loopback(at))
    return std::string{any_place};
  at.port = 0;
  return to_string(at);
}

helper_access access_of(const loader_options& x) {
  if (x.helpers || !x.cluster)
    return x.helpers.value_or(helper_access{});
  return {.certificates = x.cluster->certificates,
          .token = x.cluster->token,
          .insecure = x.cluster->insecure};
}

kept_source::settings settings_of(const own_source& x, const loader_options& options,
                                  const std::shared_ptr<shared_member>& place,
                                  const std::string& own_address) {
  const auto access = access_of(options);
  const auto& origin = *x.origin;
  const auto log = [title = origin.input->name()](const std::string& text) {
    notice("loader: source \"" + title + "\": " + text);
  };
  const auto failed = [at = x.at](const std::string& why) { at->fail(why); };
  // What this rank does not take, no other does: the coordinator has decided so.
  const auto refused = [failed, own_address](const std::string& address, const std::string& why) {
    if (address == own_address)
      failed(why
             + ": rank 0's process continues only with the journal that the job has used; without "
               "one, its records are lost when it ends");
  };
  const auto find = [place] {
    std::vector<std::string> all;
    place->look([&](const member& of) {
      for (const auto& rank : of.fed_ranks())
        all.push_back(rank.feeds_at);
    });
    return all;
  };
  return {.feed = {.name = x.at->name,
                   .role = link_role::rank,
                   .journal = origin.journal,
                   .sync = origin.options.sync,
                   .file_bytes = origin.options.file_bytes,
                   .takes_over = true,
                   .certificates = access.certificates,
                   .token = access.token,
                   .input = origin.input,
                   .log = log,
                   .refused = refused},
          .find = find,
          .is_first =
              [place] {
                return place->look([](const member& of, member::time now) {
                  return !of.is_first_elsewhere()
                         && (of.has_lease(now) || of.silence() < most_silence_of_coordinator);
                });
              },
          .failed = failed};
}

} // namespace

loader_feeds::loader_feeds(const pipeline& data, const loader_options& options) : data_(data) {
  const bool is_fed = has_feeds(data) && (!options.feeds_at.empty() || options.cluster);
  if (!is_fed && !has_several_processes(options))
    return;
  auto served = with_stations(data, {.log = tell_of_feed}, has_several_processes(options));
  if (const auto feeds = served.stations.size(); options.cluster && feeds > most_feeds_of_job)
    refuse_argument("pipeline",
                    std::to_string(feeds) + " feeds and sources that exist once, in a cluster job",
                    "at most " + std::to_string(most_feeds_of_job)
                        + ": one feed can read several queues of the same kind of records");
  data_ = std::move(served.data);
  stations_ = std::move(served.stations);
  sources_ = std::move(served.sources);
}

void loader_feeds::listen(const loader_options& options,
                          const std::shared_ptr<shared_member>& place) {
  if (stations_.empty() || hall_)
    return;
  auto [guard, host] = port_for(place_of_feeds(options), "loader.feeds_at", access_of(options));
  feed_hall_config config{.guard = std::move(guard), .stations = stations_, .log = tell_of_feed};
  if (place)
    config.judge = [place](const feed_offer& x) { return judged(*place, x); };
  hall_ = std::make_unique<feed_hall>(std::move(config));
  address_ = to_string(network_address{host, hall_->port()});
  if (stations_.size() > sources_.size())
    notice("loader: feeds join at " + address_);
}

void loader_feeds::serve(const loader_options& options,
                         const std::shared_ptr<shared_member>& place) {
  serves_ = options.rank == 0 && !sources_.empty();
  if (serves_ && kept_.empty())
    for (const auto& x : sources_)
      kept_.push_back(std::make_unique<kept_source>(settings_of(x, options, place, address_)));
  for (const auto& x : kept_)
    if (serves_)
      x->serve();
    else
      x->let_go();
}

std::vector<feed_stats> loader_feeds::stats() const {
  std::vector<feed_stats> all;
  for (const auto& x : stations_)
    all.push_back(stats_of(x->tally()));
  return all;
}

std::function<std::vector<feed_progress>()> loader_feeds::progress() const {
  if (stations_.empty())
    return {};
  return [stations = stations_] {
    std::vector<feed_progress> all;
    for (const auto& x : stations)
      if (all.size() < most_feeds_of_job)
        all.push_back(progress_of(x->tally()));
    return all;
  };
}

void loader_feeds::finish(bool is_done) noexcept {
  if (hall_)
    hall_->finish(is_done);
}

} // namespace leat
