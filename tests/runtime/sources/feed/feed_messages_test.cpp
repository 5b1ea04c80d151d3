#include "runtime/sources/feed/feed_messages.hpp"
#include "tests/support/test.hpp"

namespace leat::feed_messages_test {
namespace {

feed_offer offer() {
  return {
      .version = "1.2.3",
      .stream = {"queue", {1, 2}},
      .process = {3, 4},
      .format = feed_format::samples,
      .has_journal = true,
      .first = 5,
      .next = 70'000,
      .has_ended = true,
      .failure = "why",
      .costs = {
          .records_sent = 300, .bytes_sent = UINT64_MAX, .reading_ns = 1, .sending_ns = 70'000}};
}

feed_want want() {
  return {.looks_below = 9,
          .place = {.lanes = 7, .world_size = 3, .rank = 1},
          .covered = {4, 11},
          .window = 1 << 20,
          .used = UINT64_MAX,
          .is_starved = true,
          .fetch = {1, 300, 2},
          .urgent = {300}};
}

TEST_CASE("feed_messages: whose lanes records belong to") {
  for (std::uint64_t lanes = 1; lanes <= 7; ++lanes)
    for (std::uint64_t world = 1; world <= lanes; ++world)
      for (std::uint64_t rank = 0; rank < world; ++rank)
        for (std::uint64_t first = 0; first <= 15; ++first) {
          const lanes_of_rank x{lanes, world, rank};
          bool has_one = false;
          for (std::uint64_t next = first; next <= first + 16; ++next) {
            CAPTURE(lanes, world, rank, first, next);
            REQUIRE(x.have_record_in(first, next) == has_one);
            has_one = has_one || next % lanes % world == rank;
          }
        }
  CHECK_FALSE(lanes_of_rank{}.have_record_in(5, 4));
}

TEST_CASE("feed_messages: all that is said arrives, and torn bytes say nothing") {
  const auto said = encode(offer());
  const auto wanted = encode(want());
  const std::vector<feed_record> records{{7, "seven"}, {1 << 20, ""}};
  const auto sent = encode(records);
  CHECK(decode_feed_offer(said) == offer());
  CHECK(decode_feed_want(wanted) == want());
  CHECK(decode_feed_records(sent) == records);
  for (std::size_t size = 0; size < said.size(); ++size)
    CHECK_FALSE(decode_feed_offer(std::string_view{said}.substr(0, size)));
  for (std::size_t size = 0; size < wanted.size(); ++size)
    CHECK_FALSE(decode_feed_want(std::string_view{wanted}.substr(0, size)));
  for (std::size_t size = 0; size < sent.size(); ++size)
    CHECK_FALSE(decode_feed_records(std::string_view{sent}.substr(0, size)));
  CHECK_FALSE(decode_feed_offer(said + "x"));
  CHECK_FALSE(decode_feed_want(wanted + "x"));
  CHECK_FALSE(decode_feed_records(sent + "x"));
}

TEST_CASE("feed_messages: a summary says what was sent, and what that took") {
  CHECK(summary_of({.records_sent = 3000,
                    .bytes_sent = 360'000,
                    .reading_ns = 12'999'999,
                    .sending_ns = 36'000'000})
        == "has sent 3000 records of 360000 bytes to ranks; processors took 12 ms to read the "
           "source, and 36 ms to serve");
}

TEST_CASE("feed_messages: what no feed says is refused") {
  const auto is_refused = [](auto change) {
    auto x = offer();
    change(x);
    return !decode_feed_offer(encode(x));
  };
  CHECK_FALSE(is_refused([](feed_offer&) {}));
  CHECK(is_refused([](feed_offer& x) { x.first = x.next + 1; }));
  CHECK(is_refused([](feed_offer& x) { x.next = most_record_number + 1; }));
  CHECK(is_refused([](feed_offer& x) { x.format = static_cast<feed_format>(0); }));
  CHECK(is_refused([](feed_offer& x) { x.format = static_cast<feed_format>(3); }));
  CHECK(is_refused([](feed_offer& x) { x.stream.name.assign(most_feed_name + 1, 'x'); }));
  CHECK(is_refused([](feed_offer& x) { x.version.assign(65, '1'); }));
}

TEST_CASE("feed_messages: a rank speaks for its own lanes, and there are not too many") {
  const auto is_refused = [](const lanes_of_rank& place, std::size_t covered) {
    auto x = want();
    x.place = place;
    x.covered.assign(covered, 1);
    return !decode_feed_want(encode(x));
  };
  CHECK_FALSE(is_refused({7, 3, 1}, 2));
  CHECK_FALSE(is_refused({7, 3, 0}, 3));
  CHECK(is_refused({7, 3, 1}, 3));
  CHECK(is_refused({7, 3, 1}, 1));
  CHECK(is_refused({7, 3, 3}, 2));
  CHECK(is_refused({7, 0, 0}, 7));
  CHECK(is_refused({0, 0, 0}, 0));
  CHECK(is_refused({2, 3, 0}, 1));
  // A number for each lane is kept: one that stands in few bytes must not take gigabytes.
  CHECK(is_refused({std::uint64_t{1} << 32, std::uint64_t{1} << 32, 0}, 1));
}

TEST_CASE("feed_messages: lanes of all ranks together are all lanes") {
  for (std::uint64_t lanes = 1; lanes < 20; ++lanes)
    for (std::uint64_t world = 1; world <= lanes; ++world) {
      std::uint64_t sum = 0;
      for (std::uint64_t rank = 0; rank < world; ++rank)
        sum += lanes_of_rank{lanes, world, rank}.size();
      CHECK(sum == lanes);
    }
}

} // namespace
} // namespace leat::feed_messages_test
