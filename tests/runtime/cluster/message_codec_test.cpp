#include "runtime/cluster/message_codec.hpp"
#include "tests/support/catch.hpp"

namespace leat::message_codec_test {
namespace {

const incarnation who{1, UINT64_MAX, 3};
const process_identity process{{1, 2}, {3, 4}, 5, 6, 7, 8};

cluster_hello a_hello() {
  return {.version = "1.2",
          .token = std::string{"a\0b", 3},
          .job = "job",
          .who = who,
          .process = process,
          .host_name = "node1",
          .rank = 0,
          .rules = {.world_size = 0,
                    .least_ranks = 2,
                    .most_ranks = 6,
                    .comes_back_alone = true,
                    .run_ahead = 9},
          .pipeline = "bytes",
          .options = {{"seed", "7"}, {"steps", ""}},
          .lanes = 12,
          .ends_with_last = true};
}

cluster_beat a_beat() {
  return {.number = 5,
          .who = who,
          .life = 2,
          .term = 3,
          .sets = "sets",
          .start = job_position{1, 2},
          .behind = {0, 7},
          .global_step = 0,
          .horizons = {{0, {9, true}}, {1, {2, false}}},
          .ends = {{0, 9}},
          .saved = {{0, 4}, {0, 6}},
          .waits_for_saved = true,
          .failure = "bad",
          .is_done = true,
          .is_leaving = true,
          .gone = {who},
          .hunger = 500,
          .rows_per_second = 1000};
}

cluster_word a_word() {
  return {.life = 2,
          .echo = 5,
          .term = 3,
          .stop = 2,
          .reason = "reason",
          .waits_for = "waits",
          .seat = cluster_seat{.holder = who,
                               .rank = 1,
                               .world_size = 4,
                               .lease_ns = 30,
                               .start = job_position{0, 0},
                               .has_come_back = true,
                               .start_is_of_term = true,
                               .step_limit = 100},
          .horizons = {{3, {4, true}}},
          .failure = "failure",
          .refused = "refused",
          .is_over = true,
          .target = job_position{1, 1},
          .needed = 0,
          .given_up = job_position{1, 0},
          .stored = job_position{0, 9},
          .store_failures = 2,
          .store_failure = "full",
          .neighbours = {{who, process}}};
}

cluster_part a_part() {
  return {.term = 3,
          .at = {1, 2},
          .rank = 1,
          .total_bytes = 9,
          .offset = 4,
          .bytes = std::string{"\0x", 2}};
}

/// Equal bytes for equal structs: each field is written.
template <class Message>
void check_round_trip(const Message& full) {
  const auto bytes = encode(full);
  const auto again = decode_message<Message>(bytes);
  REQUIRE(again);
  CHECK(encode(*again) == bytes);
  const auto empty = decode_message<Message>(encode(Message{}));
  REQUIRE(empty);
  CHECK(encode(*empty) == encode(Message{}));
}

/// Nothing else than a message, or nothing, comes of damaged bytes.
template <class Message>
void check_damage(const Message& full) {
  const auto bytes = encode(full);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    (void)decode_message<Message>(std::string_view{bytes}.substr(0, i));
    auto damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    (void)decode_message<Message>(damaged);
  }
  CHECK_FALSE(decode_message<Message>(std::string(most_message_bytes + 1, '\0')));
  CHECK_FALSE(decode_message<Message>("\xff\xff\xff"));
}

} // namespace

TEST_CASE("messages of a cluster survive as bytes") {
  check_round_trip(a_hello());
  check_round_trip(a_beat());
  check_round_trip(a_word());
  check_round_trip(a_part());
  check_round_trip(cluster_status{.life = 1,
                                  .term = 2,
                                  .phase = 1,
                                  .ranks = {{.rank = 1, .global_step = 3}},
                                  .waiting = {{.host_name = "x", .rank = 2}}});
}

TEST_CASE("each field of a message arrives") {
  const auto hello = *decode_message<cluster_hello>(encode(a_hello()));
  CHECK(hello.token.size() == 3);
  CHECK(hello.rank == 0);
  CHECK(hello.rules == a_hello().rules);
  CHECK(hello.options == a_hello().options);
  CHECK(hello.process == process);
  const auto beat = *decode_message<cluster_beat>(encode(a_beat()));
  CHECK(beat.global_step == 0);
  CHECK(beat.horizons == a_beat().horizons);
  CHECK(beat.ends == a_beat().ends);
  CHECK(beat.saved == a_beat().saved);
  CHECK(beat.start == job_position{1, 2});
  const auto word = *decode_message<cluster_word>(encode(a_word()));
  CHECK(word.seat == a_word().seat);
  CHECK(word.needed == 0);
  CHECK(word.stored == job_position{0, 9});
  CHECK(word.neighbours == a_word().neighbours);
  CHECK_FALSE(decode_message<cluster_word>(encode(cluster_word{}))->needed);
  CHECK(decode_message<cluster_word>(encode(cluster_word{.seat = cluster_seat{}}))->seat->step_limit
        == UINT64_MAX);
  CHECK(decode_message<cluster_part>(encode(a_part()))->bytes == a_part().bytes);
}

TEST_CASE("damaged messages are refused or are messages") {
  check_damage(a_hello());
  check_damage(a_beat());
  check_damage(a_word());
  check_damage(a_part());
}

} // namespace leat::message_codec_test
