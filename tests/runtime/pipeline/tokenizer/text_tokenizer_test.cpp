#include "runtime/pipeline/tokenizer/kept_memory.hpp"
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

std::size_t bytes_of(const text_tokenizer::scratch& x) {
  const auto& pairs = x.pairs;
  std::size_t all =
      4
          * (pairs.tokens.capacity() + pairs.ranks.capacity() + pairs.merged.capacity()
             + pairs.before.capacity() + pairs.after.capacity())
      + sizeof(std::uint64_t) * pairs.queue.capacity()
      + sizeof(likely_pieces::cut) * x.cuts.capacity() + x.normal.capacity() + x.other.capacity();
  for (const auto& part : x.parts)
    all += part.capacity();
  return all;
}

TEST_CASE("a long text leaves no more memory to its worker than others") {
  const auto pairs = nlohmann::json::parse(R"({"type": "BPE", "merges": ["a b"],
      "vocab": {"a": 0, "b": 1, "ab": 2, "\u2581": 3}})");
  const auto unigram = nlohmann::json::parse(
      R"({"type": "Unigram", "unk_id": 0, "vocab": [["?", 0], ["a", -1], ["ab", -2], ["\u2581", -1]]})");
  for (const auto& model : {pairs, unigram}) {
    const nlohmann::json file{{"model", model},
                              {"normalizer", {{"type", "Prepend"}, {"prepend", "b"}}},
                              {"pre_tokenizer",
                               {{"type", "Metaspace"},
                                {"replacement", "\u2581"},
                                {"prepend_scheme", "always"},
                                {"split", false}}}};
    const text_tokenizer x{parse_tokenizer_json(file.dump(), "x").parts};
    text_tokenizer::scratch with;
    ids tokens;
    std::string text;
    for (int i = 0; i < 1 << 19; ++i)
      text += "ab";
    x.encode(text, {}, with, tokens);
    CHECK(tokens.size() >= 1 << 19);
    CHECK(bytes_of(with) < 16 * most_kept_bytes);
    tokens.clear();
    x.encode("ab ab", {}, with, tokens);
    text_tokenizer::scratch fresh;
    ids again;
    x.encode("ab ab", {}, fresh, again);
    CHECK(tokens == again);
  }
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
  CHECK(begins_as_ranks("IQ== 7\r\nwhatever"));
  for (const auto* other :
       {"", "\nIQ== 7\n", "{\n", "IQ==\n", "IQ== x\n", " 7\n", "\n\x0e\n\x05<unk>"})
    CHECK_FALSE(begins_as_ranks(other));
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

TEST_CASE("an unknown token stands for each byte that is no token") {
  auto x = small();
  x["model"]["vocab"]["<u>"] = 5;
  x["added_tokens"][0]["id"] = 5;
  x["added_tokens"][0]["content"] = "<u>";
  CHECK(encoded(x, "axé") == ids{0});
  x["model"]["unk_token"] = "<u>";
  CHECK(encoded(x, "axé") == ids{0, 5, 5, 5});
  CHECK(encoded(x, "abx") == ids{2, 5});
  x["model"]["fuse_unk"] = true;
  CHECK_THROWS_AS(encoded(x, "ax"), unsupported_tokenizer);
}

TEST_CASE("unknown characters side by side are one token, though longer tokens have them") {
  const auto x = nlohmann::json::parse(R"({"model": {"type": "BPE", "unk_token": "<u>",
      "fuse_unk": true, "vocab": {"a": 0, "<u>": 1}, "merges": []}})");
  CHECK(encoded(x, "a<>a") == ids{0, 1, 0});
  CHECK(encoded(x, "u文<<a") == ids{1, 0});
}

TEST_CASE("white space that belongs to an added token is no other one that would take it, too") {
  auto x = small();
  x["added_tokens"][0]["rstrip"] = true;
  x["added_tokens"].push_back({{"id", 5}, {"content", " "}, {"lstrip", true}, {"special", true}});
  CHECK(encoded(x, "a<end> b") == ids{0, 4, 1});
  CHECK(encoded(x, "a  b") == ids{0, 5, 5, 1});
  x["added_tokens"][1]["rstrip"] = true;
  CHECK(encoded(x, "a  b") == ids{0, 5, 1});
  x["added_tokens"][1]["lstrip"] = false;
  CHECK(encoded(x, "a<end> b") == ids{0, 4, 5, 1});
}

TEST_CASE("new added tokens are numbered from the vocabulary's size on, whatever numbers it has") {
  auto x = small();
  x["model"]["vocab"]["b"] = 9;
  x["added_tokens"] =
      nlohmann::json::array({{{"id", 9}, {"content", "b"}}, {{"id", 4}, {"content", "c"}}});
  CHECK(encoded(x, "abc") == ids{0, 9, 4});
  for (const auto id : {5, 10}) {
    x["added_tokens"][1]["id"] = id;
    CHECK_THROWS_AS(encoded(x, "abc"), unsupported_tokenizer);
  }
  x["added_tokens"] = nlohmann::json::array({{{"id", 3}, {"content", "\u0120"}},
                                             {{"id", 4}, {"content", "c"}},
                                             {{"id", 5}, {"content", "d"}}});
  x["model"]["vocab"]["\u0120"] = 5;
  x["added_tokens"][0]["id"] = 5;
  CHECK_THROWS_AS(encoded(x, "abc"), unsupported_tokenizer); // two with one number
}

TEST_CASE("what a pattern of ranks does not match is left out") {
  std::vector<ranked_text> ranks;
  for (token_id i = 0; i < num_bytes; ++i)
    ranks.push_back({std::string(1, static_cast<char>(i)), i});
  const text_tokenizer x{parts_of_ranks(ranks, "b+", 0, "x")};
  text_tokenizer::scratch with;
  ids tokens;
  x.encode("abcb", {}, with, tokens);
  CHECK(tokens == ids{'b', 'b'});
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
  CHECK(refused(with("/normalizer", {{"type", "Prepend"}, {"prepend", ""}}))
        == "unknown: the normalizer \"Prepend\" of nothing");
  CHECK(refused(with("/added_tokens/0/id", 9)).find("does not follow") != std::string::npos);
}

TEST_CASE("what the package tells by a text's first character, or after a template, is not known") {
  const auto refused = [](const char* place, const nlohmann::json& value) -> std::string {
    auto x = small();
    x["pre_tokenizer"] = {
        {"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "first"}, {"split", false}};
    x[place] = value;
    try {
      parse_tokenizer_json(x.dump(), "x");
    } catch (const unsupported_tokenizer& what) {
      return what.what();
    }
    return "";
  };
  CHECK(refused("normalizer", nullptr).empty());
  const std::string first = "the prepend_scheme \"first\" after a normalizer or another prefix";
  CHECK(refused("normalizer", {{"type", "StripAccents"}}) == first);
  const auto metaspace = [](const char* scheme) {
    return nlohmann::json{{"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", scheme}};
  };
  const auto all_of = [](const char* name, const nlohmann::json& a, const nlohmann::json& b) {
    return nlohmann::json{{"type", "Sequence"}, {name, {a, b}}};
  };
  CHECK(refused("pre_tokenizer", all_of("pretokenizers", metaspace("always"), metaspace("first")))
        == first);
  CHECK(refused("pre_tokenizer",
                all_of("pretokenizers", {{"type", "WhitespaceSplit"}}, metaspace("first")))
            .empty());
  const auto around = small()["post_processor"];
  const nlohmann::json of_bert{
      {"type", "BertProcessing"}, {"sep", {"<end>", 4}}, {"cls", {"<end>", 4}}};
  CHECK(refused("post_processor", all_of("processors", of_bert, around)).empty());
  CHECK(refused("post_processor", all_of("processors", around, {{"type", "ByteLevel"}})).empty());
  CHECK(refused("post_processor", all_of("processors", around, of_bert))
        == "a post-processor after a template");
}

} // namespace
} // namespace leat::text_tokenizer_test
