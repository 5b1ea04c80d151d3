#include "runtime/cluster/feed_rates.hpp"
#include "tests/support/test.hpp"

namespace leat::feed_rates_test {

using namespace std::chrono_literals;

namespace {

feed_progress progress(std::uint64_t records, std::uint64_t bytes, std::chrono::nanoseconds waited,
                       std::string name = "queue") {
  return {.name = std::move(name),
          .at = "10.0.0.5:4242",
          .records_received = records,
          .bytes_received = bytes,
          .waited_ns = static_cast<std::uint64_t>(waited.count())};
}

feed_progress with_rates(feed_progress x, std::uint64_t records, std::uint64_t bytes,
                         std::uint64_t hunger) {
  x.records_per_second = records;
  x.bytes_per_second = bytes;
  x.hunger = hunger;
  return x;
}

using all = std::vector<feed_progress>;

} // namespace

TEST_CASE("feed_rates: they are those of the time between two measurements") {
  feed_rates x;
  CHECK(x.all().empty());
  x.note({progress(100, 1000, 1s)});
  x.measure(0s);
  CHECK(x.all() == all{progress(100, 1000, 1s)});
  x.note({progress(150, 3000, 1500ms)});
  CHECK(x.all() == all{progress(150, 3000, 1500ms)});
  x.measure(2s);
  CHECK(x.all() == all{with_rates(progress(150, 3000, 1500ms), 25, 1000, 250)});
  x.note({progress(160, 3000, 9s)}); // not measured yet
  CHECK(x.all() == all{with_rates(progress(160, 3000, 9s), 25, 1000, 250)});
  x.measure(1s);
  CHECK(x.all() == all{with_rates(progress(160, 3000, 9s), 10, 0, 1000)});
}

TEST_CASE("feed_rates: each feed has its own, and one that begins again counts from there") {
  feed_rates x;
  x.note({progress(100, 1000, 0s)});
  x.measure(0s);
  x.note({progress(10, 10, 0s), progress(5, 5, 0s, "other")});
  x.measure(1s);
  CHECK(x.all() == all{progress(10, 10, 0s), progress(5, 5, 0s, "other")});
  x.note({progress(15, 10, 0s), progress(5, 25, 0s, "other")});
  x.measure(1s);
  CHECK(x.all()
        == all{with_rates(progress(15, 10, 0s), 5, 0, 0),
               with_rates(progress(5, 25, 0s, "other"), 0, 20, 0)});
  x.note({});
  CHECK(x.all().empty());
}

} // namespace leat::feed_rates_test
