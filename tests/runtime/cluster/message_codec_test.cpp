#include "runtime/base/xxh3.hpp"
#include "runtime/cluster/coordinator_state.hpp"
#include "runtime/cluster/message_codec.hpp"
#include "tests/support/test.hpp"

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
          .saves_from = {0, 7},
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

cluster_status a_status() {
  return {.life = 1,
          .term = 2,
          .phase = 3,
          .reason = "reason",
          .start = job_position{1, 2},
          .stored = job_position{3, 4},
          .target = job_position{5, 6},
          .store_failures = 7,
          .store_failure = "full",
          .rules = a_hello().rules,
          .sets = "sets",
          .job = "job",
          .ranks = {{.rank = 1,
                     .host_name = "node1",
                     .pid = 8,
                     .at = {0, 9},
                     .global_step = 0,
                     .silent_ns = 10,
                     .is_connected = true,
                     .is_done = true,
                     .has_come_back = true,
                     .hunger = 11,
                     .rows_per_second = 12,
                     .failure = "bad"},
                    {.rank = 2}},
          .waiting = {{.host_name = "x", .pid = 3, .rank = 0, .waits_for = "seat"}, {}}};
}

coordinator_state a_state() {
  return {.term = 4,
          .phase = job_phase::running,
          .seats = {{.holder = who, .process = process, .has_come_back = true}, {}},
          .rules = a_hello().rules,
          .work = {9, 10},
          .start = job_position{0, 6},
          .reason = "reason",
          .sets = "sets"};
}

std::string sum_of(const std::string& bytes) {
  return std::to_string(bytes.size()) + ' '
         + to_string(xxh3_128(std::as_bytes(std::span{bytes}))).substr(0, 16);
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

/// Calls a function with a message of each kind, all of whose fields are set.
template <class Function>
void for_each_message(Function use) {
  use(a_hello());
  use(a_beat());
  use(a_word());
  use(a_part());
  use(a_status());
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
  for_each_message([](const auto& full) { check_round_trip(full); });
  check_round_trip(cluster_word{.seat = cluster_seat{}});
  const std::vector<feed_progress> fed{{.name = "queue",
                                        .at = "10.0.0.5:4242",
                                        .has_journal = true,
                                        .records_read = 1,
                                        .reached = 2,
                                        .needed_from = 3,
                                        .records_received = 4,
                                        .bytes_received = 5,
                                        .waited_ns = 6,
                                        .records_per_second = 7,
                                        .bytes_per_second = 8,
                                        .hunger = 9}};
  const auto beat = decode_message<cluster_beat>(encode(cluster_beat{.fed = fed}));
  CHECK((beat && beat->fed == fed));
  const auto status =
      decode_message<cluster_status>(encode(cluster_status{.ranks = {{.fed = fed}}}));
  CHECK((status && status->ranks.at(0).fed == fed));
  const cluster_beat of_too_many{.fed = {most_feeds_of_job + 1, fed.front()}};
  CHECK_FALSE(decode_message<cluster_beat>(encode(of_too_many)));
  check_round_trip(cluster_beat{.feeds_at = "x:1", .feeds = {{.name = "queue"}}, .serves = true});
  const cluster_word told{.fed_ranks = {{.rank = 3, .feeds_at = "node1:5"}},
                          .first_elsewhere = true};
  check_round_trip(told);
  check_round_trip(cluster_word{.keep = 30});
  CHECK(decode_message<cluster_word>(encode(told))->fed_ranks == told.fed_ranks);
  CHECK(decode_coordinator_state(encode(a_state()), "x") == a_state());
}

TEST_CASE("messages and state files of a cluster have the bytes that other processes know") {
  CHECK(sum_of(encode(a_hello())) == "135 d7b3fbf84fb5a1da");
  auto with_beat = a_hello();
  with_beat.beat_ns = 5; // the last field
  CHECK(encode(with_beat) == encode(a_hello()) + "\x78\x05");
  CHECK(sum_of(encode(cluster_hello{})) == "17 ae71ee97bc6bd514");
  CHECK(sum_of(encode(a_beat())) == "115 a401b51918f0854c");
  CHECK(sum_of(encode(cluster_beat{})) == "4 4a91fe0db7d8ae41");
  CHECK(sum_of(encode(a_word())) == "189 c1e9a913fd565e46");
  CHECK(sum_of(encode(cluster_word{})) == "0 99aa06d3014798d8");
  CHECK(sum_of(encode(cluster_word{.seat = cluster_seat{}})) == "17 63cf37ac0831cc6c");
  CHECK(sum_of(encode(a_part())) == "18 5d9d18e47b0ad8de");
  CHECK(sum_of(encode(cluster_part{})) == "2 1212f4458f8ca3bd");
  CHECK(sum_of(encode(a_status())) == "120 a65702ba4b833ba7");
  CHECK(sum_of(encode(cluster_status{})) == "11 14e1eac050fd3ba5");
  CHECK(sum_of(encode(a_state())) == "128 6c10b77eb29c93d5");
  CHECK(sum_of(encode(coordinator_state{})) == "0 99aa06d3014798d8");
}

TEST_CASE("damaged messages are refused or are messages") {
  for_each_message([](const auto& full) { check_damage(full); });
}

TEST_CASE("messages whose parts would take far more memory than bytes are not parsed") {
  const auto repeated = [](const std::string& part, int times) {
    std::string bytes;
    for (int i = 0; i < times; ++i)
      bytes += part;
    return bytes;
  };
  const std::string option("\x62\0", 2);
  const std::string gone("\x82\x01\0", 3);
  CHECK(decode_message<cluster_hello>(repeated(option, 1000))->options.size() == 1000);
  CHECK(decode_message<cluster_beat>(repeated(gone, 1000))->gone.size() == 1000);
  CHECK_FALSE(decode_message<cluster_hello>(repeated(option, 100'000)));
  CHECK_FALSE(decode_message<cluster_beat>(repeated(gone, 100'000)));
  // Fields of a later version do not hurt, whatever they are.
  for (const auto& field : {std::string("\xf8\x3f\x05"),
                            std::string("\xf9\x3f"
                                        "12345678"),
                            std::string("\xfa\x3f\x02"
                                        "ab"),
                            std::string("\xfd\x3f"
                                        "1234")})
    CHECK(decode_message<cluster_beat>(field));
  CHECK_FALSE(decode_message<cluster_beat>("\xfa\x3f\x7f"));
  CHECK_FALSE(decode_message<cluster_beat>(std::string("\x62\xff\xff\xff\xff\x0f", 6)));
}

} // namespace leat::message_codec_test
