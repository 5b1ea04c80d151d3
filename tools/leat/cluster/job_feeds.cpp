#include "tools/leat/cluster/job_feeds.hpp"

#include <algorithm>

namespace leat::command {

namespace {

void add_rank(const feed_report& x, job_feed& to) {
  const auto host = x.at.substr(0, x.at.rfind(':'));
  if (!host.empty() && std::find(to.hosts.begin(), to.hosts.end(), host) == to.hosts.end())
    to.hosts.push_back(host);
  to.has_journal = to.has_journal || x.has_journal;
  to.needed_from = to.ranks == 0 ? x.needed_from : std::min(to.needed_from, x.needed_from);
  ++to.ranks;
  to.served += x.at.empty() ? 0 : 1;
  to.records_read = std::max(to.records_read, x.records_read);
  to.records_received += x.records_received;
  to.bytes_received += x.bytes_received;
  to.records_per_second += x.records_per_second;
  to.bytes_per_second += x.bytes_per_second;
  to.waiting_permille = std::max(to.waiting_permille, x.waiting_permille);
}

} // namespace

std::vector<job_feed> feeds_of_job(const cluster_report& x) {
  std::vector<job_feed> all;
  const auto feed_named = [&](const std::string& name) -> job_feed& {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.name == name; });
    return found == all.end() ? all.emplace_back(job_feed{.name = name}) : *found;
  };
  for (const auto& rank : x.ranks)
    for (const auto& feed : rank.feeds)
      add_rank(feed, feed_named(feed.name));
  for (const auto& rank : x.ranks) // what one rank has not heard of is lag all the same
    for (const auto& feed : rank.feeds) {
      auto& to = feed_named(feed.name);
      to.lag = std::max(to.lag, to.records_read - std::min(to.records_read, feed.reached));
    }
  return all;
}

} // namespace leat::command
