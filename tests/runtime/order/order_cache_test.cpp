#include "runtime/order/order_cache.hpp"
#include "tests/support/test.hpp"

namespace leat::order_cache_test {
namespace {

std::shared_ptr<const order_config> config_of(shuffle_kind kind, std::uint64_t records,
                                              std::uint64_t seed) {
  auto config = std::make_shared<order_config>();
  config->shuffle = {.seed = seed, .kind = kind, .window = 2};
  config->lanes = 2;
  config->records_per_file = {records / 3, records - records / 3};
  return config;
}

/// Positions in the patterns in which workers ask for them.
std::vector<std::uint64_t> some_positions(std::uint64_t records, std::mt19937_64& random) {
  std::vector<std::uint64_t> result;
  const auto stride = 1 + random() % 9;
  auto at = random() % records;
  for (int i = 0; i < 40; ++i) {
    if (random() % 8 == 0)
      at = random() % records; // another batch, or a substitute
    if (at + stride < records) // the row after it is expected
      result.push_back(at + stride);
    result.push_back(at);
    at = (at + stride) % records;
  }
  // The position that is guessed next is beyond the end.
  result.push_back(records - 1);
  return result;
}

TEST_CASE("order cache: in any order of asking, records are those of the order") {
  std::mt19937_64 random{static_cast<std::uint64_t>(Catch::rngSeed())};
  for (int round = 0; round < 300; ++round) {
    const auto records = 1 + random() % 50;
    std::vector<std::shared_ptr<const order_config>> configs;
    std::vector<std::unique_ptr<shared_orders>> shared;
    for (const auto kind : {shuffle_kind::full, shuffle_kind::windowed, shuffle_kind::full}) {
      configs.push_back(config_of(kind, records, random()));
      shared.push_back(std::make_unique<shared_orders>(configs.back()));
    }
    order_cache cache{configs.size()};
    for (int part = 0; part < 6; ++part) {
      const auto shuffle = random() % configs.size();
      const auto epoch = random() % 3;
      const auto pass = random() % 2;
      const epoch_order order{configs[shuffle], epoch, pass_word(pass)};
      for (const auto position : some_positions(records, random))
        REQUIRE(cache.record(shuffle, *shared[shuffle], epoch, pass, position)
                == order.record(position));
    }
  }
}

} // namespace
} // namespace leat::order_cache_test
