#include "runtime/pipeline/tokenizer/byte_pairs.hpp"
#include "runtime/pipeline/tokenizer/text_table.hpp"
#include "tests/support/test.hpp"

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace leat::text_table_test {
namespace {

using namespace std::string_literals;

TEST_CASE("text_table: any texts are found, and no others") {
  std::mt19937_64 random{1};
  const auto some_text = [&] {
    std::string text;
    for (auto left = random() % 4; left > 0; --left)
      text += "a\0\xff"s[random() % 3];
    return text;
  };
  for (const std::size_t texts : {1, 2, 3, 4, 5, 8, 9, 30}) {
    tokens_by_text all;
    while (all.size() < texts)
      all.emplace(some_text(), static_cast<token_id>(all.size()));
    const text_table x{all};
    CHECK_FALSE(x.empty());
    for (int i = 0; i < 1000; ++i) {
      const auto text = some_text();
      const auto found = all.find(text);
      REQUIRE(x.find(text) == (found == all.end() ? no_token : found->second));
    }
    CHECK(x.find(std::string(100, 'a')) == no_token);
  }
}

TEST_CASE("text_table: one without texts has none") {
  for (const auto& x : {text_table{}, text_table{tokens_by_text{}}}) {
    CHECK(x.empty());
    CHECK(x.find("") == no_token);
    CHECK(x.find("a") == no_token);
  }
}

TEST_CASE("text_table: a copy outlives the table that it is of") {
  auto first = std::make_unique<text_table>(tokens_by_text{{"a", 1}, {"", 2}});
  const auto copy = *first;
  const auto moved = std::move(*first);
  first = nullptr;
  for (const auto* x : {&copy, &moved}) {
    CHECK(x->find("a") == 1);
    CHECK(x->find("") == 2);
    CHECK(x->find("b") == no_token);
  }
}

TEST_CASE("byte_pairs: bytes may share a token, and a pair may be there many times") {
  byte_pairs::model model;
  model.bytes.fill(0);
  for (std::uint32_t i = 0; i < 100'000; ++i)
    model.merges.push_back({.left = 0, .right = 0, .rank = i, .into = 1 + i % 2});
  const byte_pairs x{std::move(model)};
  byte_pairs::scratch with;
  std::vector<token_id> found;
  x.encode("abcde", with, found);
  CHECK(found == std::vector<token_id>{2, 2, 0});
}

} // namespace
} // namespace leat::text_table_test
