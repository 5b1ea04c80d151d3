#include "tools/leat/feeds/feed_facts.hpp"

#include "tools/leat/output.hpp"

#include <algorithm>
#include <cmath>

namespace leat::command {

namespace {

using nlohmann::json;
using std::chrono::nanoseconds;

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

double number_per(std::uint64_t part, std::uint64_t whole) {
  return ratio(static_cast<double>(part), static_cast<double>(whole));
}

std::string whole_text(double x) {
  return with_commas(static_cast<std::uint64_t>(std::llround(std::max(0.0, x))));
}

/// Time of a processor for a record: "2.1 us".
std::string cost_text(nanoseconds of_all, std::uint64_t records) {
  return fixed(ratio(1e6 * in_seconds(of_all), static_cast<double>(records)), 1) + " us";
}

std::string place_text(const feed_stats& x) {
  return x.name + (x.at.empty() ? ", which nobody serves now" : " at " + x.at);
}

std::string way_text(const feed_stats& x, const feed_pace& pace) {
  auto text = with_commas(x.records_received) + " came here: " + pace_text(pace);
  if (x.records_received == 0)
    return text;
  if (x.records_taken > 0)
    text += ", each " + fixed(number_per(x.records_received, x.records_taken), 2) + " times";
  text += ", for " + readable_bytes(x.wire_bytes / x.records_received) + " and "
          + cost_text(x.processor, x.records_received) + " of a processor here";
  if (x.records_sent > 0)
    text += ", " + cost_text(x.sending, x.records_sent) + " there";
  return text;
}

json to_json(const feed_stats& x, nanoseconds elapsed) {
  const auto pace = pace_of(x, elapsed);
  return {{"name", x.name},
          {"at", x.at.empty() ? json() : json(x.at)},
          {"journal", x.has_journal},
          {"ended", x.has_ended},
          {"records_read", x.records_read},
          {"reached", x.reached},
          {"lag", x.lag},
          {"needed_from", x.needed_from},
          {"records_taken", x.records_taken},
          {"records_received", x.records_received},
          {"bytes_received", x.bytes_received},
          {"records_per_second", pace.records_per_second},
          {"bytes_per_second", pace.bytes_per_second},
          {"times_fetched",
           x.records_taken > 0 ? json(number_per(x.records_received, x.records_taken)) : json()},
          {"wire_bytes", x.wire_bytes},
          {"processor_seconds", in_seconds(x.processor)},
          {"starved_seconds", in_seconds(x.starved)},
          {"fetching_seconds", in_seconds(x.fetching)},
          {"waited_seconds", in_seconds(x.waited)},
          {"records_sent", x.records_sent},
          {"bytes_sent", x.bytes_sent},
          {"reading_seconds", in_seconds(x.reading)},
          {"sending_seconds", in_seconds(x.sending)}};
}

} // namespace

std::vector<feed_stats> feeds_of(const std::vector<loader_stats>& ranks) {
  std::vector<feed_stats> all;
  for (const auto& x : ranks)
    all.insert(all.end(), x.feeds.begin(), x.feeds.end());
  return all;
}

std::vector<feed_stats> feeds_since(const std::vector<feed_stats>& before,
                                    std::vector<feed_stats> now) {
  // Both have the same feeds of the same loaders.
  for (std::size_t i = 0; i < std::min(before.size(), now.size()); ++i) {
    auto& x = now[i];
    x.records_taken -= before[i].records_taken;
    x.records_received -= before[i].records_received;
    x.bytes_received -= before[i].bytes_received;
    x.wire_bytes -= before[i].wire_bytes;
    x.starved -= before[i].starved;
    x.fetching -= before[i].fetching;
    x.waited -= before[i].waited;
    x.processor -= before[i].processor;
  }
  return now;
}

feed_pace pace_of(const feed_stats& x, nanoseconds elapsed) {
  const auto seconds = in_seconds(elapsed);
  return {.records_per_second = ratio(static_cast<double>(x.records_received), seconds),
          .bytes_per_second = ratio(static_cast<double>(x.bytes_received), seconds),
          .starved = std::min(1.0, ratio(in_seconds(x.starved), seconds)),
          .fetching = std::min(1.0, ratio(in_seconds(x.fetching), seconds))};
}

std::string pace_text(const feed_pace& x) {
  return whole_text(x.records_per_second) + " records and "
         + readable_bytes(static_cast<std::uint64_t>(std::max(0.0, x.bytes_per_second)))
         + " per second";
}

std::vector<std::string> feed_lines(const feed_stats& x, nanoseconds elapsed) {
  const auto pace = pace_of(x, elapsed);
  return {place_text(x) + ": has given " + with_commas(x.records_read) + " records"
              + (x.has_ended ? ", all there are" : "") + "; " + with_commas(x.records_taken)
              + " were taken here, lag " + with_commas(x.lag) + ", needed from record "
              + with_commas(x.needed_from) + " on",
          way_text(x, pace),
          "waited for its source " + percent(pace.starved, 1)
              + " of the time, for records on their way " + percent(pace.fetching, 1)};
}

json feeds_to_json(const std::vector<feed_stats>& x, nanoseconds elapsed) {
  auto all = json::array();
  for (const auto& feed : x)
    all.push_back(to_json(feed, elapsed));
  return all;
}

} // namespace leat::command
