#include "runtime/lending/piece_intake.hpp"
#include "tests/support/test.hpp"
#include "tests/support/thrown_error.hpp"

namespace leat::piece_intake_test {
namespace {

piece_intake::state add_all(piece_intake& to, std::uint64_t index, std::size_t size) {
  piece_intake::state last;
  const auto frames = frames_of(frame_kind::row, 1, std::string(size, 'x'), index, 10);
  for (const auto& x : frames)
    last = to.add(1, x.words, {x.payload[0].data(), x.payload[0].size()});
  REQUIRE(last.is_whole);
  REQUIRE(last.index == index);
  return last;
}

TEST_CASE("byte_allowance: no more than its bytes are taken, or one thing of any size") {
  const byte_allowance x{100};
  auto a = x.take(60);
  REQUIRE(a);
  REQUIRE_FALSE(x.take(41));
  auto b = x.take(40);
  REQUIRE(b);
  REQUIRE(x.used() == 100);
  const auto copy = a;
  a = nullptr;
  REQUIRE(x.used() == 100); // the copy has it
  b = nullptr;
  REQUIRE(x.used() == 60);
  REQUIRE_FALSE(x.take(std::uint64_t{0} - 1));
  const byte_allowance other{100};
  const auto huge = other.take(1000);
  REQUIRE(huge);
  REQUIRE_FALSE(other.take(1));
}

TEST_CASE("byte_allowance: threads that take and give back at random never have too much") {
  const byte_allowance x{1000};
  std::atomic<std::uint64_t> held = 0;
  std::atomic<bool> is_kept = true;
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 1; seed <= 3; ++seed)
    threads.emplace_back([&, seed] {
      std::mt19937_64 chance{seed};
      for (int i = 0; i < 5000; ++i) {
        const auto bytes = 1 + chance() % 600;
        if (const auto room = x.take(bytes)) {
          if ((held += bytes) > 1000)
            is_kept = false;
          held -= bytes;
        }
      }
    });
  for (auto& each : threads)
    each.join();
  REQUIRE(is_kept);
  REQUIRE(x.used() == 0);
}

TEST_CASE("piece_intake: what there is no room for is thrown away, until there is") {
  const byte_allowance room{100};
  piece_intake one{room, 80};
  piece_intake other{room, 80};
  auto a = add_all(one, 1, 60);
  REQUIRE(a.bytes->size() == 60);
  REQUIRE(room.used() == 60);
  REQUIRE_FALSE(add_all(other, 2, 41).bytes);
  REQUIRE(room.used() == 60);
  const auto b = add_all(other, 3, 40);
  REQUIRE(b.bytes);
  a.bytes = nullptr;
  REQUIRE(add_all(other, 4, 60).bytes);
  REQUIRE(room.used() == 40);
}

TEST_CASE("piece_intake: what is larger than one may be is thrown away even if all is free") {
  const byte_allowance room{1000};
  piece_intake x{room, 80};
  REQUIRE_FALSE(add_all(x, 0, 81).bytes);
  REQUIRE(add_all(x, 0, 80).bytes);
  REQUIRE(room.used() == 0);
}

TEST_CASE("piece_intake: room is taken with the first piece, and given back with a torn link") {
  const byte_allowance room{100};
  {
    piece_intake x{room, 100};
    REQUIRE_FALSE(x.add(1, encode(payload_piece{0, 0, 90}), "abc").is_whole);
    REQUIRE(x.is_open());
    REQUIRE(room.used() == 90);
    REQUIRE(thrown_by([&] {
              (void)x.add(2, encode(payload_piece{0, 3, 90}), "abc");
            }).code()
            == errc::cluster);
  }
  REQUIRE(room.used() == 0);
}

} // namespace
} // namespace leat::piece_intake_test
