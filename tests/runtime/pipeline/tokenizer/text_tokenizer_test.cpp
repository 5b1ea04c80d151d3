#include "runtime/pipeline/tokenizer/rank_file.hpp"
#include "runtime/pipeline/tokenizer/text_tokenizer.hpp"
#include "runtime/pipeline/tokenizer/tokenizer_json.hpp"
#include "runtime/pipeline/tokenizer/unsupported_tokenizer.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/test.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace leat::text_tokenizer_test {
namespace {

using ids = std::vector<token_id>;

/// All bytes, and texts of a, b and space that are made of two others.
std::vector<ranked_text> some_ranks(test::seeded_random& random) {
  std::vector<ranked_text> all;
  for (unsigned i = 0; i < num_bytes; ++i)
    all.push_back({std::string(1, static_cast<char>(i)), i});
  std::vector<std::string> known{"a", "b", " "};
  for (token_id rank = num_bytes; rank < num_bytes + 40;) {
    auto text = known[(random() % (known.size()))] + known[(random() % (known.size()))];
    if (text.size() > 12 || std::find(known.begin(), known.end(), text) != known.end())
      continue;
    known.push_back(text);
    all.push_back({std::move(text), rank++});
  }
  return all;
}

/// As tiktoken defines it: the pair of the smallest rank, the first of equal ones, again and again.
ids by_definition(const std::vector<ranked_text>& ranks, const std::string& text) {
  std::map<std::string, token_id> known;
  for (const auto& x : ranks)
    known.emplace(x.bytes, x.rank);
  if (known.contains(text))
    return {known.at(text)};
  std::vector<std::string> parts;
  for (const auto c : text)
    parts.emplace_back(1, c);
  for (;;) {
    auto best = no_token;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i)
      if (const auto found = known.find(parts[i] + parts[i + 1]);
          found != known.end() && found->second < best) {
        best = found->second;
        at = i;
      }
    if (best == no_token)
      break;
    parts[at] += parts[at + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(at) + 1);
  }
  ids result;
  for (const auto& x : parts)
    result.push_back(known.at(x));
  return result;
}

TEST_CASE("pairs are merged as they are defined to be, in short texts and in long ones") {
  test::seeded_random random;
  for (int round = 0; round < 20; ++round) {
    const auto ranks = some_ranks(random);
    const text_tokenizer x{parts_of_ranks(ranks, "(?:.|\\n)+", 0, "x")};
    text_tokenizer::scratch kept;
    for (int i = 0; i < 50; ++i) {
      std::string text;
      for (auto n = (random() % (i < 40 ? 20 : 300)) + 1; n > 0; --n)
        text += "ab "[(random() % (3))];
      const auto wanted = by_definition(ranks, text);
      ids first;
      ids again;
      text_tokenizer::scratch fresh;
      x.encode(text, {}, fresh, first);
      x.encode(text, {}, kept, again);
      x.encode(text, {}, kept, again); // out of the cache
      INFO(text);
      REQUIRE(first == wanted);
      auto twice = wanted;
      twice.insert(twice.end(), wanted.begin(), wanted.end());
      REQUIRE(again == twice);
      REQUIRE(x.decode(first) == text);
    }
  }
}

TEST_CASE("a megabyte without a space takes no longer than n log n") {
  test::seeded_random random;
  const auto ranks = some_ranks(random);
  const text_tokenizer x{parts_of_ranks(ranks, pattern_of_encoding("gpt2"), 0, "x")};
  text_tokenizer::scratch with;
  ids tokens;
  std::string text;
  for (int i = 0; i < 1 << 20; ++i)
    text += "ab"[(random() % (2))];
  x.encode(text, {}, with, tokens);
  CHECK(x.decode(tokens) == text);
}

TEST_CASE("files of ranks are read, and refused with the line") {
  const auto refused = [](const std::string& text) {
    const auto problem =
        problem_of([&] { parts_of_ranks(parse_rank_file(text, "x"), "a", 0, "x"); });
    return problem ? problem->details().got : "";
  };
  CHECK(parse_rank_file("IQ== 7\r\nYWI= 8\n", "x").at(1).bytes == "ab");
  CHECK(refused("IQ== 7\nYWI 8\n") == "line 2: \"YWI 8\"");
  CHECK(refused("IQ== x\n") == "line 1: \"IQ== x\"");
  CHECK(refused("IQ== 99999999\n") == "line 1: \"IQ== 99999999\"");
  CHECK(refused("IQ== 0\nIQ== 1\n").find("twice") != std::string::npos);
  CHECK(refused("IQ== 0\n") == "no token for the byte 0");
  CHECK_THROWS_AS(pattern_of_encoding("none"), error);
}

/// Tokens "a", "b", "ab" and a special one.
nlohmann::json small() {
  return nlohmann::json::parse(R"({
    "added_tokens": [{"id": 4, "content": "<end>", "special": true, "normalized": false}],
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
    "post_processor": {"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A"}},
      {"SpecialToken": {"id": "<end>"}}], "special_tokens": {"<end>": {"ids": [4]}}},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "\u0120": 3}, "merges": ["a b"]}})");
}

ids encoded(const nlohmann::json& file, const std::string& text, text_tokenizer::options how = {}) {
  const text_tokenizer x{parse_tokenizer_json(file.dump(), "x").parts};
  text_tokenizer::scratch with;
  ids tokens;
  x.encode(text, how, with, tokens);
  return tokens;
}

TEST_CASE("a tokenizer.json says which tokens a text has") {
  CHECK(encoded(small(), "ab a") == ids{2, 3, 0});
  CHECK(encoded(small(), "a<end>b") == ids{0, 4, 1});
  CHECK(encoded(small(), "a<end>", {.encodes_special = true}) == ids{0});
  CHECK(encoded(small(), "ab", {.adds_special = true}) == ids{2, 4});
  CHECK(encoded(small(), "", {.adds_special = true}) == ids{4});
  auto x = small();
  x["added_tokens"][0]["lstrip"] = true;
  CHECK(encoded(x, "a <end>") == ids{0, 4});
  x["added_tokens"][0]["single_word"] = true;
  CHECK(encoded(x, "a<end>b") == ids{0, 1});
  x["pre_tokenizer"] = nullptr;
  x["normalizer"] = {{"type", "Prepend"}, {"prepend", "a"}};
  CHECK(encoded(x, "b") == ids{2});
}

TEST_CASE("the hash of a tokenizer.json is that of its content") {
  const auto hash = [](const nlohmann::json& x, int indent = -1) {
    return parse_tokenizer_json(x.dump(indent), "x").hash;
  };
  auto x = small();
  CHECK(hash(x) == hash(x, 2));
  x["padding"] = {{"length", 3}};
  x["truncation"] = {{"max_length", 3}};
  x["model"]["merges"] = nlohmann::json::array({nlohmann::json::array({"a", "b"})});
  x["model"]["ignore_merges"] = false;
  CHECK(hash(x) == hash(small()));
  x["model"]["ignore_merges"] = true;
  CHECK(hash(x) != hash(small()));
}

TEST_CASE("what a tokenizer.json has wrong is named, and what leat does not know as well") {
  const auto with = [](const char* place, const nlohmann::json& value) {
    auto x = small();
    x[nlohmann::json::json_pointer{place}] = value;
    return x.dump();
  };
  const auto refused = [](const std::string& text) -> std::string {
    try {
      parse_tokenizer_json(text, "x");
    } catch (const error& what) {
      CHECK(what.details().file == "x");
      return what.details().got;
    } catch (const unsupported_tokenizer& what) {
      return std::string{"unknown: "} + what.what();
    }
    return "";
  };
  CHECK(refused("{") == "no JSON, or damaged JSON");
  CHECK(refused("[]") == "no object, needed a tokenizer.json");
  CHECK(refused("{}") == "tokenizer.model, needed a model");
  CHECK(refused(std::string(100, '[')).find("nested") != std::string::npos);
  CHECK(refused(with("/model/merges/0", "a c")).find("which is no token") != std::string::npos);
  CHECK(refused(with("/model/vocab/a", -1)).find("needed a number") != std::string::npos);
  CHECK(refused(with("/model/type", "Unigram"))
        == "unknown: a model of the type \"Unigram\" after ByteLevel");
  CHECK(refused(with("/model/type", "WordLevel")) == "unknown: a model of the type \"WordLevel\"");
  CHECK(refused(with("/model/dropout", 0.1)) == "unknown: a model with dropout");
  CHECK(refused(with("/normalizer", {{"type", "Nmt"}})) == "unknown: the normalizer \"Nmt\"");
  CHECK(refused(with("/added_tokens/0/id", 9)).find("does not follow") != std::string::npos);
}

} // namespace
} // namespace leat::text_tokenizer_test
