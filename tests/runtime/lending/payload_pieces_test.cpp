#include "runtime/lending/payload_pieces.hpp"
#include "tests/support/test.hpp"

namespace leat::payload_pieces_test {
namespace {

using state = payload_pieces::state;

std::string_view bytes_of(const bulk_frame& x) {
  return {x.payload[0].data(), x.payload[0].size()};
}

std::string noise(std::mt19937_64& chance, std::size_t size) {
  std::string x(size, ' ');
  for (auto& byte : x)
    byte = static_cast<char>(chance());
  return x;
}

TEST_CASE("payload_pieces: what travels in pieces is what was sent, one after the other") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 chance{seed};
  payload_pieces to;
  for (int i = 0; i < 300; ++i) {
    const auto piece = 1 + chance() % 50;
    const auto sent = noise(chance, piece + 1 + chance() % 500);
    const auto frames = frames_of(frame_kind::row, 7, sent, 3, piece);
    REQUIRE(frames.size() == (sent.size() + piece - 1) / piece);
    const bool is_dropped = chance() % 5 == 0;
    for (std::size_t k = 0; k < frames.size(); ++k) {
      const auto last = k + 1 == frames.size();
      REQUIRE(frames[k].number == 7);
      REQUIRE(to.add(7, frames[k].words, bytes_of(frames[k]))
              == (last ? state::whole : state::open));
      REQUIRE(to.is_open() == !last);
      REQUIRE(to.size() == sent.size());
      REQUIRE(to.index() == 3);
      if (is_dropped)
        to.throw_away();
    }
    REQUIRE(to.is_thrown_away() == is_dropped);
    const auto came = to.take();
    REQUIRE(std::string(came.begin(), came.end()) == (is_dropped ? "" : sent));
  }
}

TEST_CASE("payload_pieces: what fits into a frame travels in one, without words") {
  for (const std::size_t size : {0, 1, 9, 10}) {
    const auto frames = frames_of(frame_kind::offer, 1, std::string(size, 'x'), 0, 10);
    REQUIRE(frames.size() == 1);
    REQUIRE(frames[0].words.empty());
    REQUIRE(bytes_of(frames[0]) == std::string(size, 'x'));
  }
}

TEST_CASE("payload_pieces: a piece that does not follow the one before is torn") {
  const auto words = [](std::uint64_t index, std::uint64_t offset, std::uint64_t size) {
    return encode(payload_piece{index, offset, size});
  };
  struct line {
    std::uint64_t number;
    std::string words;
    std::string bytes;
  };
  for (const auto& [number, next, bytes] : {
           line{2, words(1, 4, 10), "efgh"},                 // of another offer
           line{1, words(2, 4, 10), "efgh"},                 // of another row
           line{1, words(1, 4, 11), "efgh"},                 // of another size
           line{1, words(1, 3, 10), "efgh"},                 // once more
           line{1, words(1, 5, 10), "fghi"},                 // one was left out
           line{1, words(1, 4, 10), "efghijk"},              // too many bytes
           line{1, words(1, 4, 10), ""},                     // none
           line{1, "", "efgh"},                              // no words
           line{1, words(1, 4, 10) + "x", "efgh"},           // too many words
           line{1, words(1, 4, most_whole_bytes + 1), "ef"}, // too large
       }) {
    CAPTURE(number, bytes);
    payload_pieces x;
    REQUIRE(x.add(1, words(1, 0, 10), "abcd") == state::open);
    REQUIRE(x.add(number, next, bytes) == state::torn);
  }
  payload_pieces x;
  REQUIRE(x.add(1, words(1, 4, 10), "efgh") == state::torn); // not the first
  REQUIRE(payload_pieces{}.add(1, words(0, 0, 0), "a") == state::torn);
  REQUIRE(payload_pieces{}.add(1, words(0, 0, 3), "abc") == state::whole);
}

} // namespace
} // namespace leat::payload_pieces_test
