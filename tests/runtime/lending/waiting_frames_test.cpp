#include "runtime/lending/waiting_frames.hpp"
#include "tests/support/test.hpp"

namespace leat::waiting_frames_test {
namespace {

constexpr std::int64_t second = 1'000'000'000;

/// Takes as many frames as it has room for.
struct connection {
  std::size_t room = 0;
  std::vector<std::uint64_t> taken = {};

  bool send(bulk_frame& x) {
    if (room == 0)
      return false;
    --room;
    taken.push_back(x.number);
    x = {};
    return true;
  }
};

bulk_frame numbered(std::uint64_t x, std::size_t bytes = 0) {
  return frame_with(frame_kind::row, x, std::string(bytes, 'x'));
}

TEST_CASE("waiting_frames: all are taken once, in their order, notes and others") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 chance{seed};
  waiting_frames x;
  connection to;
  std::uint64_t sent = 0;
  for (int i = 0; i < 1000; ++i) {
    switch (chance() % 3) {
    case 0:
      x.send(to, numbered(sent++));
      break;
    case 1: {
      std::vector<bulk_frame> several;
      for (auto n = chance() % 4; n > 0; --n)
        several.push_back(numbered(sent++));
      x.send(to, std::move(several));
      break;
    }
    default:
      to.room += chance() % 5;
      x.flush(to);
    }
    REQUIRE(x.is_empty() == (to.taken.size() == sent));
  }
  to.room = sent;
  x.flush(to);
  REQUIRE(x.is_empty());
  std::vector<std::uint64_t> all(sent);
  std::iota(all.begin(), all.end(), 0);
  REQUIRE(to.taken == all);
}

TEST_CASE("waiting_frames: notes that nobody takes are too many at some point, rows are not") {
  waiting_frames x;
  connection to;
  constexpr auto part = waiting_frames::most_note_bytes / 4;
  std::vector<bulk_frame> rows;
  for (int i = 0; i < 8; ++i)
    rows.push_back(numbered(0, part));
  x.send(to, std::move(rows));
  REQUIRE_FALSE(x.is_overfull());
  for (int i = 0; i < 3; ++i)
    x.send(to, numbered(1, part));
  REQUIRE_FALSE(x.is_overfull());
  x.send(to, numbered(1, part));
  REQUIRE(x.is_overfull());
  to.room = 9;
  x.flush(to);
  REQUIRE_FALSE(x.is_overfull());
}

TEST_CASE("waiting_frames: frames without a byte are too many at some point, too") {
  waiting_frames x;
  connection to;
  for (std::size_t i = 0; i <= waiting_frames::most_note_bytes / cost_of_frame; ++i)
    x.send(to, numbered(i));
  REQUIRE(x.is_overfull());
}

TEST_CASE("waiting_frames: it is stuck once nothing was taken for long, and never while empty") {
  waiting_frames x;
  connection to;
  REQUIRE_FALSE(x.is_stuck(1, second));
  REQUIRE_FALSE(x.is_stuck(100 * second, second));
  x.send(to, numbered(1));
  x.send(to, numbered(2));
  REQUIRE_FALSE(x.is_stuck(101 * second, second));
  REQUIRE_FALSE(x.is_stuck(102 * second - 1, second));
  REQUIRE(x.is_stuck(102 * second, second));
  to.room = 1;
  x.flush(to);
  REQUIRE_FALSE(x.is_stuck(102 * second, second));
  REQUIRE(x.is_stuck(103 * second, second));
  to.room = 2;
  x.flush(to);
  x.send(to, numbered(3)); // taken as well
  REQUIRE_FALSE(x.is_stuck(200 * second, second));
  x.send(to, numbered(4));
  REQUIRE_FALSE(x.is_stuck(300 * second, second));
}

} // namespace
} // namespace leat::waiting_frames_test
