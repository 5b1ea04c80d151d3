#include "runtime/pipeline/sentencepiece/piece_encoder.hpp"
#include "tests/support/applied_map.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <leat/functions.hpp>
#include <leat/sources.hpp>

#include <wire/sentencepiece.pb.h>

namespace leat::sentencepiece_test {
namespace {

using wire::SentencePieceModel;
using tokens = std::vector<std::int32_t>;

enum type : int { normal = 1, unknown, control, defined, unused, byte };

void add(SentencePieceModel& to, const std::string& text, float score, int type = normal) {
  auto& piece = *to.add_pieces();
  piece.set_piece(text);
  piece.set_score(score);
  piece.set_type(type);
}

/// <unk>, <s>, </s>, and a few pieces from 3 on.
SentencePieceModel small_model(int model_type) {
  SentencePieceModel x;
  x.mutable_trainer_spec()->set_model_type(model_type);
  add(x, "<unk>", 0, unknown);
  add(x, "<s>", 0, control);
  add(x, "</s>", 0, control);
  add(x, "\u2581", -3);
  add(x, "a", -2);
  add(x, "b", -2);
  add(x, "ab", -1);
  add(x, "\u2581ab", -1.5);
  add(x, "ü", -2);
  add(x, "<x>", 0, defined);
  return x;
}

piece_encoder encoder(const SentencePieceModel& x) {
  return piece_encoder{parse_piece_model(x.SerializeAsString(), "x.model")};
}

tokens encoded(const SentencePieceModel& x, const std::string& text) {
  return encoder(x).encode(text);
}

/// Why parsing refuses this model; empty if it does not.
std::string refused(const SentencePieceModel& x) {
  const auto problem = problem_of([&] { parse_piece_model(x.SerializeAsString(), "x.model"); });
  if (!problem)
    return {};
  CHECK(problem->details().stage == "sentencepiece@1");
  CHECK(problem->details().file == "x.model");
  return problem->details().got;
}

void write(const std::string& path, const SentencePieceModel& x) {
  test::write_content(path, x.SerializeAsString());
}

template <class F>
std::string got_of(F f) {
  const auto problem = problem_of(f);
  return problem ? problem->details().got : "";
}

TEST_CASE("a unigram model gives the pieces with the largest sum of scores") {
  auto x = small_model(1);
  CHECK(encoded(x, "ab") == tokens{7});
  CHECK(encoded(x, "abab") == tokens{7, 6});
  CHECK(encoded(x, "ba") == tokens{3, 5, 4});
  CHECK(encoded(x, "").empty());
  CHECK(encoded(x, "   ").empty());
  CHECK(encoded(x, "  ab   ab ") == tokens{7, 7});
  CHECK(encoded(x, "ü") == tokens{3, 8});
  CHECK(encoded(x, "a<x>b") == tokens{3, 4, 9, 5});
  x.mutable_pieces(6)->set_type(unused);
  CHECK(encoded(x, "abab") == tokens{7, 4, 5});
}

TEST_CASE("a BPE model merges the best pair, and of equal ones the leftmost") {
  auto x = small_model(2);
  CHECK(encoded(x, "ab") == tokens{7}); // ab first, then with the space
  CHECK(encoded(x, "aab") == tokens{3, 4, 6});
  CHECK(encoded(x, "a<x>b") == tokens{3, 4, 9, 5});
  add(x, "aa", -1);
  CHECK(encoded(x, "aab") == tokens{3, 10, 5});
  CHECK(encoded(x, "aaa") == tokens{3, 10, 4});
  x.mutable_pieces(6)->set_type(unused); // "ab", taken apart again
  CHECK(encoded(x, "bab") == tokens{3, 5, 4, 5});
}

TEST_CASE("characters that a model does not have: one token for all in a row, or bytes") {
  auto x = small_model(1);
  CHECK(encoded(x, "xyzab") == tokens{3, 0, 6});
  CHECK(encoded(x, "xay") == tokens{3, 0, 4, 0});
  x.mutable_trainer_spec()->set_byte_fallback(true);
  const std::string digits = "0123456789ABCDEF";
  for (std::size_t i = 0; i < 256; ++i)
    add(x, {'<', '0', 'x', digits[i / 16], digits[i % 16], '>'}, 0, byte);
  CHECK(encoded(x, "é") == tokens{3, 10 + 0xc3, 10 + 0xa9});
  x.mutable_trainer_spec()->set_model_type(2);
  CHECK(encoded(x, "aé") == tokens{3, 4, 10 + 0xc3, 10 + 0xa9});
}

TEST_CASE("the options of a model's normalization") {
  auto x = small_model(1);
  auto& options = *x.mutable_normalizer_spec();
  options.set_add_dummy_prefix(false);
  CHECK(encoded(x, "ab a") == tokens{6, 3, 4});
  options.set_remove_extra_whitespaces(false);
  CHECK(encoded(x, " a  ") == tokens{3, 4, 3, 3});
  options.set_escape_whitespaces(false);
  CHECK(encoded(x, "a a") == tokens{4, 0, 4});
  options.Clear();
  x.mutable_trainer_spec()->set_treat_whitespace_as_suffix(true);
  CHECK(encoded(x, "a") == tokens{4, 3});
}

TEST_CASE("models that are not whole are refused") {
  CHECK(refused(small_model(1)).empty());
  for (const int known : {2, 3, 4})
    CHECK(refused(small_model(known)).empty());
  CHECK(refused(small_model(5)) == "a model of the type 5");
  CHECK(refused({}) == "no pieces");
  const auto with = [](const std::string& text, float score, int type = normal) {
    auto x = small_model(1);
    add(x, text, score, type);
    return x;
  };
  CHECK(refused(with("a", 0)) == "\"a\" as two pieces");
  CHECK(refused(with("", 0)) == "piece 10 \"\"");
  CHECK(refused(with("c", 0, 7)) == "piece 10 of the type 7");
  CHECK(refused(with("c", std::nanf(""))) == "piece 10 without a finite score");
  auto x = with("<0x00>", 0, byte);
  CHECK(refused(x) == "the byte piece \"<0x00>\"");
  x.mutable_trainer_spec()->set_byte_fallback(true);
  CHECK(refused(x) == "byte_fallback with pieces for 1 byte");
  x = small_model(1);
  x.mutable_pieces(0)->set_type(normal);
  CHECK(refused(x) == "a model with no unknown piece, or several");
}

TEST_CASE("no damage of a model file does more than give other tokens") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random{seed};
  for (int round = 0; round < 3000; ++round) {
    auto x = small_model(1 + round % 4);
    std::string rules("\x40\0\0\0", 4);
    for (int i = 0; i < 0x40 + 8; ++i)
      rules += static_cast<char>(random() % (i % 4 < 2 ? 256 : 2));
    x.mutable_normalizer_spec()->set_precompiled_charsmap(rules + '\0');
    auto bytes = x.SerializeAsString();
    for (auto changes = random() % 4; changes > 0; --changes)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(bytes.size() - (round % 5 == 0 ? random() % bytes.size() : 0));
    try {
      const piece_encoder made{parse_piece_model(bytes, "x.model")};
      for (const auto token : made.encode("ab <x> ü\u2581xyz abab\x01\x7f  b"))
        REQUIRE((token >= 0 && token < static_cast<std::int32_t>(made.model().pieces.size())));
    } catch (const error& problem) {
      REQUIRE(problem.code() == errc::invalid_argument);
    }
  }
}

/// Rules that replace one byte, in the form of Darts-clone's double array.
std::string rules_for_byte(unsigned char byte, const std::string& by) {
  constexpr std::uint32_t leaf_flag = 1U << 8;
  std::vector<std::uint32_t> units(256);
  units[byte] = (byte ^ 1U) << 10 | leaf_flag | byte;
  units[1] = 1U << 31; // the leaf: the text at 0
  std::string rules("\0\x04\0\0", 4);
  for (const auto unit : units)
    for (unsigned i = 0; i < 4; ++i)
      rules += static_cast<char>(unit >> (8 * i) & 0xff);
  return rules + by + '\0';
}

TEST_CASE("rules that replace a part of a character leave a text that is not cut") {
  auto x = small_model(1);
  x.mutable_normalizer_spec()->set_precompiled_charsmap(rules_for_byte(0xc3, "a"));
  CHECK(encoded(x, "b\u00e9") == tokens{3, 5, 4, 0});
  CHECK(encoded(x, "\u00e9b ab") == tokens{3, 4, 0, 5, 7});
  x.mutable_normalizer_spec()->set_precompiled_charsmap(rules_for_byte(0xc3, " "));
  CHECK(encoded(x, "\u00e9") == tokens{3, 0});
  CHECK(encoded(x, "b\u00e9") == tokens{3, 5, 3, 0});
}

TEST_CASE("sentencepiece sets the tokens of a text") {
  const test::temporary_directory dir;
  write(dir / "x.model", small_model(1));
  sample x;
  x.set("text", "abab");
  test::apply(sentencepiece(dir / "x.model"), x);
  CHECK(x.fields() == std::vector<std::string>{"tokens"});
  CHECK(x.is_ragged("tokens"));
  CHECK(test::elements<std::int32_t>(x, "tokens") == tokens{7, 6});
  x.set("s", "ba");
  test::apply(
      sentencepiece(dir / "x.model",
                    {.field = "s", .into = "t", .keep_text = true, .begin = true, .end = true}),
      x);
  CHECK(x.text("s") == "ba");
  CHECK(test::elements<std::int32_t>(x, "t") == tokens{1, 3, 5, 4, 2});
  x.set("text", "a\xc3");
  CHECK(cause_of([&] { test::apply(sentencepiece(dir / "x.model"), x); }) == cause::corrupt);
}

TEST_CASE("a model's hash is a part of the map, and another model is refused") {
  const test::temporary_directory dir;
  const auto path = dir / "x.model";
  auto model = small_model(1);
  write(path, model);
  const auto made = count(1).map(sentencepiece(path)).batch(1);
  const auto text = to_string(made);
  CHECK(has(text, "hash=\""));
  CHECK(parse_pipeline(text) == made);
  CHECK(parse_pipeline("count(1).map(\"sentencepiece@1\", model=\"" + path + "\").batch(1)")
        == made);
  add(model, "c", -1);
  write(path, model);
  CHECK_FALSE(count(1).map(sentencepiece(path)).batch(1) == made);
  CHECK(has(got_of([&] { parse_pipeline(text); }), "another model, with the hash "));
}

TEST_CASE("sentencepiece refuses files that are no models, and tokens that a model lacks") {
  const test::temporary_directory dir;
  const auto path = dir / "x.model";
  CHECK_THROWS_AS(sentencepiece(path), error);
  test::write_content(path, "no model");
  CHECK(got_of([&] { sentencepiece(path); }) == "a file that is no model, or a part of one");
  auto model = small_model(1);
  model.mutable_normalizer_spec()->set_precompiled_charsmap("abc");
  write(path, model);
  CHECK(got_of([&] { sentencepiece(path); }) == "rules of normalization that are cut or damaged");
  model = small_model(1);
  model.mutable_trainer_spec()->set_bos_piece("none");
  write(path, model);
  CHECK(got_of([&] { sentencepiece(path, {.begin = true}); })
        == "begin=true for a model without such a token");
  CHECK(got_of([&] { sentencepiece(path, {.end = true}); }).empty());
}

} // namespace

} // namespace leat::sentencepiece_test
