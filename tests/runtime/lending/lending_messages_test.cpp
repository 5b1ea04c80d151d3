#include "runtime/lending/helper_queue.hpp"
#include "runtime/lending/lending_messages.hpp"
#include "tests/support/test.hpp"

namespace leat::lending_messages_test {
namespace {

TEST_CASE("lending_messages: a note keeps all that it says, and a torn one is none") {
  const lending_note x{.what = lending_note::kind::ready,
                       .version = "1.2.3",
                       .cores = 7,
                       .window = 1 << 20,
                       .has_data = true,
                       .text = "why",
                       .offers = {1, UINT64_MAX}};
  const auto bytes = encode(x);
  REQUIRE(decode_lending_note(bytes) == x);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    REQUIRE_FALSE(decode_lending_note(std::string_view{bytes}.substr(0, size)));
  REQUIRE_FALSE(decode_lending_note(bytes + "x"));
  auto unknown = bytes;
  unknown[0] = 0;
  REQUIRE_FALSE(decode_lending_note(unknown));
  unknown[0] = 7;
  REQUIRE_FALSE(decode_lending_note(unknown));
}

TEST_CASE("lending_messages: offers and answers keep their rows in order, and torn ones are none") {
  const auto offer = encode(std::vector<offered_row>{{"a", "records"}, {"bc", ""}});
  const auto rows = decode_offer(offer);
  REQUIRE(rows->size() == 2);
  REQUIRE((*rows)[0].request == "a");
  REQUIRE((*rows)[0].records == "records");
  REQUIRE((*rows)[1].request == "bc");
  REQUIRE((*rows)[1].records.empty());
  const auto answer = encode(std::vector<answered_row>{{3, true, 1000, "xyz"}, {0, false, 1, ""}});
  const auto answers = decode_answer(answer);
  REQUIRE(answers->size() == 2);
  REQUIRE((*answers)[0].index == 3);
  REQUIRE((*answers)[0].is_made);
  REQUIRE((*answers)[0].took == 1000);
  REQUIRE((*answers)[0].result == "xyz");
  REQUIRE_FALSE((*answers)[1].is_made);
  const auto endless = encode(std::vector<answered_row>{{0, true, UINT64_MAX, ""}});
  REQUIRE((*decode_answer(endless))[0].took == 3'600'000'000'000); // sums of these do not overflow
  for (std::size_t size = 0; size < offer.size(); ++size)
    REQUIRE_FALSE(decode_offer(std::string_view{offer}.substr(0, size)));
  for (std::size_t size = 0; size < answer.size(); ++size)
    REQUIRE_FALSE(decode_answer(std::string_view{answer}.substr(0, size)));
}

TEST_CASE("helper_queue: cores go from rank to rank, and what is cancelled or lost is not wanted") {
  helper_queue x;
  const auto bytes = std::make_shared<const std::vector<char>>();
  for (const std::uint64_t offer : {1, 2, 3})
    x.add({1, offer, bytes});
  x.add({2, 1, bytes});
  const auto a = *x.take();
  const auto b = *x.take();
  const auto c = *x.take();
  REQUIRE((a.link == 1 && a.offer == 1));
  REQUIRE((b.link == 2 && b.offer == 1));
  REQUIRE((c.link == 1 && c.offer == 2));
  REQUIRE(x.is_wanted(a));
  REQUIRE(x.cancel(1, {1, 3}).size() == 1); // of these, only 3 still waited
  REQUIRE_FALSE(x.is_wanted(a));
  REQUIRE_FALSE(x.take());
  x.drop(2);
  REQUIRE_FALSE(x.is_wanted(b));
  x.done(c);
  REQUIRE_FALSE(x.is_wanted(c));
  REQUIRE(x.size() == 0);
}

} // namespace
} // namespace leat::lending_messages_test
