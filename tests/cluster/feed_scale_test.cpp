// What a feed and its ranks cost, with its server and their clients as they are, without faults:
// each record and each rank as much in a large job as in a small one.
#include "tests/cluster/least_growth.hpp"
#include "tests/cluster/measured_feed.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/sanitized.hpp"

namespace leat::feed_scale_test {

using test::measured_feed;

namespace {

/// That the feed sends or gets for a record which comes alone: an offer, what the rank asks for,
/// the record; and two signs of life and a want per second.
constexpr double most_messages_per_record = 5;
constexpr double most_messages_of_end = 2;
constexpr double most_wait_s = 0.02;
constexpr std::size_t most_bytes_per_rank = 3000;
/// As in cluster_scale_test.
constexpr double most_growth = 5;
constexpr double seconds = 3;

/// Returns how long the feed's own code takes for a message.
double cost_of(std::uint64_t ranks) {
  measured_feed x{{.ranks = ranks}};
  x.connect(1);
  x.run(2);
  x.take_costs();
  x.run(seconds);
  const auto costs = x.take_costs();
  const auto bytes = x.bytes_of_server();
  const auto end_s = x.end_source();
  const auto at_end = x.take_costs();
  x.run(0.5);
  const auto n = static_cast<double>(ranks);
  const auto messages = static_cast<double>(costs.feed.messages);
  const auto per_record = messages / static_cast<double>(costs.records);
  const auto of_end = static_cast<double>(at_end.feed.messages) / n;
  std::ostringstream text;
  text << ranks << " ranks: " << static_cast<double>(costs.records) / seconds << " records/s, "
       << per_record << " messages per record, " << messages / n / seconds
       << " messages per rank and second, feed "
       << 1e-9 * static_cast<double>(costs.feed.busy.count()) / seconds << " of a core and "
       << 1e-6 * static_cast<double>(costs.feed.bytes) / seconds << " MB/s, trained on after "
       << 1e3 * costs.longest_s << " ms at most, end known after " << 1e3 * end_s << " ms, "
       << bytes / ranks << " bytes per rank, " << 1e6 * costs.seconds_per_message
       << " us of own code per message\n";
  std::cout << text.str();
  CHECK(x.trained() == x.came());
  CHECK(per_record <= most_messages_per_record);
  CHECK(static_cast<double>(costs.rank.messages) <= 3 * messages / n);
  CHECK(costs.longest_s <= most_wait_s);
  CHECK(of_end <= most_messages_of_end);
  if (!test::sanitized) // these have a heap of their own
    CHECK(bytes <= most_bytes_per_rank * ranks);
  return costs.seconds_per_message;
}

TEST_CASE("feed scale: a record costs as much for many ranks as for few") {
  if (test::sanitized)
    cost_of(100);
  else
    CHECK(test::least_growth(most_growth, cost_of) <= most_growth);
}

} // namespace
} // namespace leat::feed_scale_test
