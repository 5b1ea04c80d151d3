#include "tests/support/catch.hpp"

#include "tools/leat/shares.hpp"
#include <nlohmann/json.hpp>

#include <vector>

namespace leat::command::shares_test {
namespace {

loader_stats rank_with(std::uint64_t first, std::uint64_t second) {
  loader_stats x;
  x.mixes = {{"tokens", {{"a", 3, first, 100 * first}, {"b", 1, second, 10 * second}}},
             {"", {{"of both", 1, first + second, 0}, {"c", 1, 5, 0}}}};
  return x;
}

TEST_CASE("shares: those of all ranks, against their weights") {
  const std::vector<loader_stats> ranks{rank_with(1, 10), rank_with(1000, 20)};
  const auto mixes = mixes_of(ranks);
  REQUIRE(mixes.size() == 2);
  CHECK(mixes[0].inputs[0].samples == 1001);
  CHECK(mixes[0].inputs[1].cost == 300);
  using lines = std::vector<std::string>;
  CHECK(share_lines(mixes, 8)
        == lines{"mix 1   a: 99.7% of tokens, weight 75.0%; 1,001 samples, 100,100 tokens",
                 "mix 1   b: 0.3% of tokens, weight 25.0%; 30 samples, 300 tokens",
                 "mix 2   of both: 99.0%, weight 50.0%; 1,031 samples",
                 "mix 2   c: 1.0%, weight 50.0%; 10 samples"});
  CHECK(share_lines({mixes[1]}, 6).front() == "mix   of both: 99.0%, weight 50.0%; 1,031 samples");
  CHECK(shares_text(mixes) == "shares 99.0%, 1.0%");
  const auto json = mixes_to_json(mixes);
  CHECK(json[0]["cost"] == "tokens");
  CHECK(json[1]["inputs"][1]["name"] == "c");
  CHECK(json[1]["inputs"][1]["samples"] == 10);
}

TEST_CASE("shares: nothing is said where nothing was given, and of very many inputs in a line") {
  CHECK(shares_text({}).empty());
  CHECK(shares_text({{"", {{"a", 1, 0, 0}, {"b", 1, 0, 0}}}}).empty());
  CHECK(share_lines({{"", {{"a", 0, 0, 0}}}}, 4).front() == "mix a: 0.0%; 0 samples");
  mix_counts many;
  many.inputs.resize(9, {"x", 1, 1, 0});
  CHECK(shares_text({many}).empty());
  many.inputs.resize(8);
  CHECK_FALSE(shares_text({many}).empty());
}

} // namespace
} // namespace leat::command::shares_test
