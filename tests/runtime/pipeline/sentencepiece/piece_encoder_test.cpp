#include "runtime/pipeline/sentencepiece/piece_encoder.hpp"
#include "runtime/pipeline/tokenizer/code_points.hpp"
#include "runtime/pipeline/tokenizer/kept_memory.hpp"
#include "tests/support/test.hpp"

#include <map>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat::piece_encoder_test {
namespace {

using tokens = std::vector<std::int32_t>;

constexpr std::array<std::string_view, 10> parts{"a", "b",  "c",  ",", "1",
                                                 "é", "日", "本", " ", "  "};

std::string random_part(std::mt19937_64& random) {
  return std::string{parts[random() % parts.size()]};
}

/// Words that come again, in texts so long that sums of scores are rounded differently in them.
std::string random_words(std::mt19937_64& random) {
  std::vector<std::string> words(1 + random() % 20);
  for (auto& word : words)
    for (auto n = 1 + random() % 6; n > 0; --n)
      word += random_part(random);
  std::string text;
  for (auto n = random() % (random() % 10 == 0 ? 4000 : 60); n > 0; --n)
    text += words[random() % words.size()] + (random() % 3 == 0 ? " " : "");
  return text;
}

/// Many sums of its scores are equal but for rounding.
piece_model random_model(std::mt19937_64& random, piece_model_kind kind) {
  piece_model x;
  x.kind = kind;
  x.remove_extra_spaces = random() % 2 == 0;
  x.add_dummy_prefix = random() % 4 != 0;
  x.space_is_suffix = random() % 4 == 0;
  x.escape_spaces = random() % 8 != 0;
  std::map<std::string, vocabulary_piece> pieces;
  for (auto n = 5 + random() % 60; n > 0; --n) {
    std::string text;
    for (auto length = 1 + random() % 4; length > 0; --length) {
      const auto part = random_part(random);
      text += part.front() == ' ' && x.escape_spaces ? "\u2581" : part;
    }
    const auto score = -1.1F * static_cast<float>(1 + random() % 9);
    const auto type = random() % 20 == 0   ? piece_type::user_defined
                      : random() % 30 == 0 ? piece_type::unused
                                           : piece_type::normal;
    pieces[text] = {text, score, type};
  }
  x.pieces.push_back({"<unk>", 0, piece_type::unknown});
  for (const auto& [text, piece] : pieces)
    x.pieces.push_back(piece);
  return x;
}

/// The same with a piece that no text has, and that is no UTF-8: texts are not cut then.
piece_model not_cut(piece_model x) {
  const auto normal = std::find_if(x.pieces.begin(), x.pieces.end(), [](const auto& piece) {
    return piece.type == piece_type::normal;
  });
  const float score = normal == x.pieces.end() ? 0 : normal->score;
  x.pieces.push_back(
      {"\xff", score, normal == x.pieces.end() ? piece_type::user_defined : piece_type::normal});
  return x;
}

TEST_CASE("no token depends on where texts are cut, and on which words came before") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 300; ++round) {
    const auto kind = static_cast<piece_model_kind>(round % 4);
    const auto model = random_model(random, kind);
    const piece_encoder cut{model};
    const piece_encoder whole{not_cut(model)};
    piece_encoder::scratch with;
    piece_encoder::scratch of_whole;
    tokens found;
    tokens wanted;
    for (int i = 0; i < 12; ++i) {
      const auto text = random_words(random);
      cut.encode(text, with, found);
      whole.encode(text, of_whole, wanted);
      CAPTURE(round, i, text);
      REQUIRE(found == wanted);
    }
  }
}

TEST_CASE("words that came before have no effect where sums overflow") {
  piece_model x;
  x.add_dummy_prefix = false;
  x.pieces = {{"<unk>", 0, piece_type::unknown},
              {"a", -1e38F, piece_type::normal},
              {"b", -1e38F, piece_type::normal},
              {"ab", -3.4e38F, piece_type::normal},
              {"c", -3e38F, piece_type::normal}};
  const piece_encoder by{x};
  piece_encoder::scratch with;
  tokens found;
  by.encode("ab", with, found);
  CHECK(found == tokens{1, 2});
  by.encode("cab", with, found);
  CHECK(found == by.encode("cab"));
  CHECK(found == piece_encoder{not_cut(x)}.encode("cab"));
}

TEST_CASE("a long text without a seam leaves no more memory to its worker than others") {
  std::mt19937_64 random{1};
  for (const auto kind : {piece_model_kind::unigram, piece_model_kind::bpe}) {
    piece_model x;
    x.kind = kind;
    x.pieces = {{"<unk>", 0, piece_type::unknown},
                {"ab", -1, piece_type::normal},
                {"ba", -2, piece_type::unused},
                {"abba", -2, piece_type::unused}};
    const piece_encoder by{x};
    piece_encoder::scratch with;
    tokens found;
    std::string text;
    for (int i = 0; i < 1 << 20; ++i)
      text += "ab"[random() % 2];
    by.encode(text, with, found);
    CHECK(found.size() > 1 << 18);
    CHECK(with.normalized.capacity() <= most_kept_bytes);
    CHECK(with.found.capacity() * sizeof(found_piece) <= most_kept_bytes);
    CHECK(with.best.ways.capacity() * sizeof(best_pieces::way) <= most_kept_bytes);
    CHECK(with.merged.symbols.capacity() * sizeof(merged_pieces::symbol) <= most_kept_bytes);
    CHECK(with.merged.pairs.capacity() * sizeof(merged_pieces::pair) <= most_kept_bytes);
    CHECK(with.merged.merged_at.bucket_count() * sizeof(void*) <= most_kept_bytes);
    by.encode("ab ab", with, found);
    CHECK(found == by.encode("ab ab"));
  }
}

TEST_CASE("many unused pieces of one text leave no memory to its worker") {
  constexpr char32_t first = U'\u4e00';
  constexpr char32_t characters = 200;
  piece_model x;
  x.kind = piece_model_kind::bpe;
  x.add_dummy_prefix = false;
  x.pieces = {{"<unk>", 0, piece_type::unknown}};
  std::string text;
  for (char32_t i = 0; i < characters; ++i)
    for (char32_t j = 0; j < characters; ++j) {
      std::string piece;
      append_utf8(piece, first + i);
      append_utf8(piece, first + j);
      text += piece;
      x.pieces.push_back({std::move(piece), -1, piece_type::unused});
    }
  const piece_encoder by{x};
  piece_encoder::scratch with;
  tokens found;
  by.encode(text, with, found);
  CHECK(with.merged.merged_at.bucket_count() * sizeof(void*) <= most_kept_bytes);
}

piece_model of_words(piece_model_kind kind) {
  piece_model x;
  x.kind = kind;
  x.pieces = {{"<unk>", 0, piece_type::unknown},
              {"\u2581ab", -1, piece_type::normal},
              {"\u2581", -2, piece_type::normal},
              {"a", -2, piece_type::normal},
              {"<x>", 0, piece_type::user_defined}};
  return x;
}

TEST_CASE("a model of words takes words as they stand, with the spaces before them") {
  auto model = of_words(piece_model_kind::words);
  CHECK(piece_encoder{model}.encode("ab  ab") == tokens{1, 1});
  CHECK(piece_encoder{model}.encode("ab a ab") == tokens{1, 0, 1});
  CHECK(piece_encoder{model}.encode("abab x y a").size() == 1); // unknown ones in a row
  model.remove_extra_spaces = false;
  CHECK(piece_encoder{model}.encode("ab  ab") == tokens{1, 2, 1});
  CHECK(piece_encoder{model}.encode("").empty());
}

TEST_CASE("a word that is written like a control token is text") {
  auto model = of_words(piece_model_kind::words);
  model.add_dummy_prefix = false;
  model.pieces.push_back({"<s>", 0, piece_type::control});
  CHECK(piece_encoder{model}.encode("<s>") == tokens{0});
}

TEST_CASE("a model of characters takes each character, and what its maker defined") {
  const piece_encoder by{of_words(piece_model_kind::characters)};
  CHECK(by.encode("ab") == tokens{2, 3, 0});
  CHECK(by.encode("a<x>a") == tokens{2, 3, 4, 3});
  CHECK(by.encode("éé a") == tokens{2, 0, 2, 3});
}

TEST_CASE("a trie knows its texts and no others, however many there are") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 30; ++round) {
    std::map<std::string, std::int32_t> texts;
    for (auto n = random() % 2000; n > 0; --n) {
      std::string text;
      for (auto length = 1 + random() % 6; length > 0; --length)
        text += static_cast<char>(random() % (round % 2 == 0 ? 256 : 5));
      texts.emplace(text, static_cast<std::int32_t>(texts.size()));
    }
    const piece_trie trie{{texts.begin(), texts.end()}};
    const auto id_of = [&](const std::string& text) {
      std::uint32_t node = 0;
      for (const auto c : text)
        if (node = trie.next(node, c); node == 0)
          return piece_trie::none;
      return trie.id(node);
    };
    for (const auto& [text, id] : texts) {
      REQUIRE(id_of(text) == id);
      auto other = text;
      other[random() % other.size()] = static_cast<char>(random());
      const auto known = texts.find(other);
      REQUIRE(id_of(other) == (known == texts.end() ? piece_trie::none : known->second));
    }
  }
}

} // namespace
} // namespace leat::piece_encoder_test
