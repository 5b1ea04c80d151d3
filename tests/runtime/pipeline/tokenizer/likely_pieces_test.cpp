#include "runtime/pipeline/tokenizer/likely_pieces.hpp"
#include "runtime/pipeline/tokenizer/word_pieces.hpp"
#include "tests/support/random_text.hpp"
#include "tests/support/test.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace leat::likely_pieces_test {
namespace {

using ids = std::vector<token_id>;

ids encoded(const likely_pieces& by, const std::string& text) {
  likely_pieces::scratch with;
  ids tokens;
  by.encode(text, with, tokens);
  return tokens;
}

double score_of(const likely_pieces::model& of, const ids& tokens) {
  double sum = 0;
  for (const auto x : tokens)
    sum += of.pieces[x].second;
  return sum;
}

/// The greatest sum of scores of a text that begins at a place, by looking at every cut.
double best_from(const likely_pieces::model& of, const std::string& text, std::size_t at,
                 std::map<std::size_t, double>& known) {
  if (at == text.size())
    return 0;
  if (const auto found = known.find(at); found != known.end())
    return found->second;
  double best = -1e300;
  for (std::size_t i = 1; i < of.pieces.size(); ++i)
    if (const auto& [piece, score] = of.pieces[i]; text.compare(at, piece.size(), piece) == 0)
      best = std::max(best, score + best_from(of, text, at + piece.size(), known));
  return known[at] = best;
}

TEST_CASE("a unigram model cuts texts where the sum of scores is greatest") {
  test::seeded_random random;
  for (int round = 0; round < 30; ++round) {
    likely_pieces::model of;
    of.unknown = 0;
    of.pieces = {{"?", 0}, {"a", -3}, {"b", -4}, {"c", -5}};
    std::map<std::string, bool> used{{"a", true}, {"b", true}, {"c", true}};
    for (int i = 0; i < 20; ++i) {
      std::string piece;
      for (auto n = 2 + random() % 4; n > 0; --n)
        piece += "abc"[random() % 3];
      if (used.emplace(piece, true).second)
        of.pieces.emplace_back(piece, -1.0 - static_cast<double>(random() % 1000) / 100);
    }
    const likely_pieces by{of};
    for (int i = 0; i < 30; ++i) {
      std::string text;
      for (auto n = random() % 30; n > 0; --n)
        text += "abc"[random() % 3];
      const auto tokens = encoded(by, text);
      std::string again;
      for (const auto x : tokens)
        again += of.pieces[x].first;
      REQUIRE(again == text);
      std::map<std::size_t, double> known;
      const auto difference = score_of(of, tokens) - best_from(of, text, 0, known);
      REQUIRE(std::abs(difference) < 1e-9);
    }
  }
}

TEST_CASE("unknown characters side by side are one token, or their bytes") {
  likely_pieces::model of;
  of.unknown = 0;
  of.pieces = {{"<unk>", 0}, {"a", -1}, {"é", -1}};
  CHECK(encoded(likely_pieces{of}, "") == ids{});
  CHECK(encoded(likely_pieces{of}, "axya") == ids{1, 0, 1});
  CHECK(encoded(likely_pieces{of}, "文é文") == ids{0, 2, 0});
  of.has_bytes = true;
  for (std::size_t i = 0; i < num_bytes; ++i) {
    of.bytes[i] = static_cast<token_id>(of.pieces.size());
    of.pieces.emplace_back("<" + std::to_string(i) + ">", -20);
  }
  CHECK(encoded(likely_pieces{of}, "axya") == ids{1, 3 + 'x', 3 + 'y', 1});
  CHECK(encoded(likely_pieces{of}, "<unk>") == ids{0});
}

TEST_CASE("unknown characters that are a piece together are that piece") {
  likely_pieces::model of;
  of.unknown = 0;
  of.pieces = {{"<unk>", 30}, {"a", 30}, {"xy", 30.5}}; // two unknown ones have 40
  CHECK(encoded(likely_pieces{of}, "axya") == ids{1, 2, 1});
  CHECK(encoded(likely_pieces{of}, "axyx") == ids{1, 0});
}

TEST_CASE("word pieces: the longest piece first, a word with a rest is unknown") {
  word_pieces::model of;
  of.begins = {{"un", 1}, {"a", 2}, {"##b", 3}};
  of.continues = {{"b", 3}, {"bb", 4}, {"é", 5}};
  of.unknown = 0;
  of.most_characters = 5;
  const auto tokens = [&](const std::string& word) {
    ids found;
    word_pieces{of}.encode(word, found);
    return found;
  };
  CHECK(tokens("unbbb") == ids{1, 4, 3});
  CHECK(tokens("aéb") == ids{2, 5, 3});
  CHECK(tokens("##bb") == ids{3, 3});
  CHECK(tokens("ax") == ids{0});
  CHECK(tokens("b") == ids{0});
  CHECK(tokens("aéééé") == ids{2, 5, 5, 5, 5});
  CHECK(tokens("aééééé") == ids{0});
}

} // namespace
} // namespace leat::likely_pieces_test
