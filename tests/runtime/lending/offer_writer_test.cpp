#include "runtime/lending/lending_messages.hpp"
#include "runtime/lending/offer_writer.hpp"
#include "tests/support/slots.hpp"
#include "tests/support/small_job.hpp"
#include "tests/support/test.hpp"

namespace leat::offer_writer_test {
namespace {

using indexes = std::vector<std::size_t>;

struct lent_slot {
  explicit lent_slot(std::size_t rows)
      : slot(std::make_shared<batch_slot>(std::make_shared<batch_layout>(), rows)) {
    open_rows(*slot, rows, true);
    (void)slot->claim_last(slot->ticket(), rows, rows);
    for (std::uint32_t i = 0; i < rows; ++i)
      places.push_back({slot, slot->ticket(), i, rows});
  }

  std::shared_ptr<batch_slot> slot;
  std::vector<row_place> places;
};

TEST_CASE("offer_writer: rows stay lent, and those that workers may have passed over are told") {
  const auto plan = noisy_plan(20, 4);
  lent_slot of{3};
  of.places[1].is_dealt_here = true;
  offer_writer x{std::nullopt, *plan};
  const auto made = x.write(of.places, false, 1000, [] { return true; });
  REQUIRE(decode_offer(made.bytes)->size() == 3);
  REQUIRE(made.how.unsent.empty());
  REQUIRE(made.how.declined.empty());
  REQUIRE(made.how.bytes > static_cast<std::int64_t>(made.bytes.size()));
  REQUIRE(made.for_here.size() == 1);
  REQUIRE(made.for_here[0].row == 1);
  for (std::size_t row = 0; row < 3; ++row)
    REQUIRE(of.slot->take_lent(of.slot->ticket(), row));
}

TEST_CASE("offer_writer: what was taken, has no room or comes too late is left out") {
  const auto plan = noisy_plan(20, 4);
  lent_slot of{4};
  offer_writer x{std::nullopt, *plan};
  REQUIRE(of.slot->take_lent(of.slot->ticket(), 0));
  auto made = x.write(of.places, false, 1, [] { return true; }); // one always goes
  REQUIRE(decode_offer(made.bytes)->size() == 2);
  REQUIRE((*decode_offer(made.bytes))[0].request.empty());
  REQUIRE(made.how.unsent == indexes{0, 2, 3});
  int left = 2;
  made = x.write(of.places, false, 1000, [&] { return --left > 0; });
  REQUIRE(decode_offer(made.bytes)->size() == 3);
  REQUIRE(made.how.unsent == indexes{0, 3});
  for (std::size_t row = 1; row < 4; ++row)
    REQUIRE(of.slot->take_lent(of.slot->ticket(), row));
  made = x.write(of.places, false, 1000, [] { return true; });
  REQUIRE(made.bytes.empty());
  REQUIRE(made.how.unsent == indexes{0, 1, 2, 3});
}

} // namespace
} // namespace leat::offer_writer_test
