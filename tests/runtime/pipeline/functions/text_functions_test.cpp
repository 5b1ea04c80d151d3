#include "runtime/pipeline/functions/percent_text.hpp"
#include "runtime/pipeline/functions/text_counts.hpp"
#include "tests/support/applied_map.hpp"
#include "tests/support/test.hpp"

#include <leat/functions.hpp>

namespace leat::text_functions_test {
namespace {

using test::apply;
using test::elements;

std::string normalized(const std::string& text, const normalize_text_options& options) {
  sample x;
  x.set("f", text);
  apply(normalize_text("f", options), x);
  CHECK(x.is_bytes("f"));
  return std::string{x.text("f")};
}

/// Normalizes only white space, as `how` tells.
std::string spaced(const std::string& text, white_space how) {
  return normalized(text, {.spaces = how, .trim = false, .line_ends = false, .control = false});
}

bool keeps(const filter_stage& stage, const std::string& text) {
  sample x;
  x.set("f", text);
  return stage.make()(x);
}

using tokens = std::vector<std::int32_t>;
using bits = std::vector<std::uint8_t>;

bits mask_of(const tokens& all, const loss_mask_options& options) {
  sample x;
  x.set("f", all, {all.size()});
  apply(loss_mask("f", options), x);
  CHECK_FALSE(x.is_ragged(options.into));
  return elements<std::uint8_t>(x, options.into);
}

TEST_CASE("add_tokens puts elements around a field, which keeps its kind") {
  sample x;
  x.set("f", tokens{5, 6}, {2});
  apply(add_tokens("f", {1}, {2, -3}), x);
  CHECK(elements<std::int32_t>(x, "f") == tokens{1, 5, 6, 2, -3});
  CHECK_FALSE(x.is_ragged("f"));
  x.set_ragged("f", tokens{});
  apply(add_tokens("f", {}, {7}), x);
  CHECK(elements<std::int32_t>(x, "f") == tokens{7});
  CHECK(x.is_ragged("f"));
  x.set("f", "ab");
  apply(add_tokens("f", {'<'}, {'>'}), x);
  CHECK(x.is_bytes("f"));
  CHECK(x.text("f") == "<ab>");
  CHECK(cause_of([&] { apply(add_tokens("f", {256}), x); }) == cause::wrong_shape);
  CHECK(cause_of([&] { apply(add_tokens("f", {}, {-1}), x); }) == cause::wrong_shape);
  CHECK(x.text("f") == "<ab>");
  CHECK(cause_of([&] { apply(add_tokens("none", {1}), x); }) == cause::missing_field);
  x.set("n", 1);
  CHECK(cause_of([&] { apply(add_tokens("n", {1}), x); }) == cause::wrong_shape);
  CHECK_THROWS_AS(add_tokens("f", {}), error);
}

TEST_CASE("default_field sets what a sample lacks, as json_lines would have") {
  sample x;
  x.set("there", "text");
  x.set("null", "null");
  x.set("null_text", "null");
  apply(default_field("there", 5), x);
  apply(default_field("null", 5), x);
  apply(default_field("null_text", "other"), x);
  apply(default_field("real", 0.5), x);
  apply(default_field("flag", true), x);
  apply(default_field("text", "a b"), x);
  CHECK(x.text("there") == "text");
  CHECK(x.get<std::int64_t>("null") == 5);
  CHECK(x.text("null_text") == "null");
  CHECK(x.get<double>("real") == 0.5);
  CHECK(x.get<std::uint8_t>("flag") == 1);
  CHECK(x.is_bytes("text"));
  CHECK(x.text("text") == "a b");
}

TEST_CASE("loss_mask is 1 on answers") {
  const tokens two{9, 1, 2, 5, 6, 3, 9, 1, 2, 7};
  CHECK(mask_of(two, {.begin = {1, 2}, .end = {3}}) == bits{0, 0, 0, 1, 1, 1, 0, 0, 0, 1});
  CHECK(mask_of(two, {.begin = {1, 2}, .end = {3}, .include_end = false})
        == bits{0, 0, 0, 1, 1, 0, 0, 0, 0, 1});
  CHECK(mask_of(two, {.begin = {1, 2}}) == bits{0, 0, 0, 1, 1, 1, 1, 1, 1, 1});
  CHECK(mask_of(two, {.begin = {2, 1}, .end = {3}}) == bits(10, 0));
  // Nothing between the two; a second begin in an answer, which is a part of it; an end alone.
  CHECK(mask_of({1, 3, 1, 1, 3, 3}, {.begin = {1}, .end = {3}}) == bits{0, 1, 0, 1, 1, 0});
  CHECK(mask_of({4, 1}, {.begin = {1}, .end = {3}}) == bits{0, 0});
  CHECK(mask_of({1, 3, 4, 3, 5}, {.begin = {1}, .end = {3, 5}}) == bits{0, 1, 1, 1, 1});
  CHECK(mask_of({}, {.begin = {1}}).empty());
}

TEST_CASE("a loss mask is ragged where its field is, and takes the place of another field") {
  sample x;
  x.set_ragged("f", tokens{1, 2});
  apply(loss_mask("f", {.begin = {1}, .into = "m"}), x);
  CHECK(x.is_bytes("m"));
  CHECK(x.text("m") == std::string("\0\1", 2));
  x.set("t", "q:a");
  apply(loss_mask("t", {.begin = {':'}, .into = "t"}), x);
  CHECK(x.text("t") == std::string("\0\0\1", 3));
  CHECK(cause_of([&] { apply(loss_mask("t", {.begin = {300}}), x); }) == cause::wrong_shape);
  CHECK_THROWS_AS(loss_mask("t", {.begin = {}}), error);
}

TEST_CASE("normalize_text: white space in lines, or all of it") {
  const std::string text = " \t a \t b\r\n\n  c\v\fd \n e  ";
  CHECK(spaced(text, white_space::keep) == text);
  CHECK(spaced(text, white_space::lines) == "a b\n\nc d\ne");
  CHECK(spaced(text, white_space::all) == " a b c d e ");
  CHECK(spaced("  ", white_space::lines).empty());
  CHECK(spaced("  ", white_space::all) == " ");
  CHECK(spaced(" \n ", white_space::lines) == "\n");
  CHECK(spaced("", white_space::all).empty());
  CHECK(normalized(text, {.spaces = white_space::all}) == "a b cd e"); // control characters first
  CHECK(normalized(" \n\t", {}).empty());
  const normalize_text_options trim_only{
      .spaces = white_space::keep, .line_ends = false, .control = false};
  CHECK(normalized(" \n a  b\r ", trim_only) == "a  b");
}

TEST_CASE("normalize_text: line ends, control characters and letters") {
  const auto one = [](const std::string& text, bool line_ends, bool control, bool lower) {
    return normalized(text, {white_space::keep, false, line_ends, control, lower});
  };
  CHECK(one("a\r\nb\rc\n\r\r\n", true, false, false) == "a\nb\nc\n\n\n");
  CHECK(one("a\r\nb", false, true, false) == "a\r\nb");
  CHECK(one(std::string("a\0b\x1f\x7f\t\n\v", 8), false, true, false) == "ab\t\n");
  CHECK(one("AZ[`az\xc3\x84", false, false, true) == "az[`az\xc3\x84");
  CHECK(normalized("Ü\u00a0\u2028 \x80\xff", {.lower = true}) == "Ü\u00a0\u2028 \x80\xff");
  sample x;
  x.set("f", tokens{1}, {1});
  CHECK(cause_of([&] { apply(normalize_text("f"), x); }) == cause::wrong_shape);
}

/// Converts to a Unicode form, and does nothing else.
std::string in_form(const std::string& text, unicode_form form) {
  return normalized(text, {.spaces = white_space::keep,
                           .trim = false,
                           .line_ends = false,
                           .control = false,
                           .unicode = form});
}

TEST_CASE("normalize_text: forms of Unicode") {
  using enum unicode_form;
  const std::string mixed = "e\u0301 \u00e9 \ufb01 \u00a0 \uac00 \u1100\u1161 \u2126 a\u0323\u0307";
  CHECK(in_form(mixed, keep) == mixed);
  CHECK(in_form(mixed, nfc) == "\u00e9 \u00e9 \ufb01 \u00a0 \uac00 \uac00 \u03a9 \u1ea1\u0307");
  CHECK(in_form(mixed, nfd)
        == "e\u0301 e\u0301 \ufb01 \u00a0 \u1100\u1161 \u1100\u1161 \u03a9 a\u0323\u0307");
  CHECK(in_form(mixed, nfkc) == "\u00e9 \u00e9 fi   \uac00 \uac00 \u03a9 \u1ea1\u0307");
  CHECK(in_form(mixed, nfkd)
        == "e\u0301 e\u0301 fi   \u1100\u1161 \u1100\u1161 \u03a9 a\u0323\u0307");
  CHECK(in_form(std::string("a\0e\u0301", 5), nfc) == std::string("a\0\u00e9", 4));
  CHECK(in_form("", nfc).empty());
  for (const auto form :
       {nfc, nfkc}) // a vowel that lies where the final consonants are counted from
    CHECK(in_form("\ubd9c\u11a7\u11a8\ubd9c\u11a8", form) == "\ubd9c\u11a7\u11a8\ubd9d");
  // Unicode comes before white space, so the spaces that it produces are normalized as well.
  CHECK(normalized("\u3000 a\u00a0\u00a0b", {.unicode = nfkc}) == "a b");
}

TEST_CASE("normalize_text: bytes that are not UTF-8 stay, and part what is normalized") {
  using enum unicode_form;
  CHECK(in_form("\xff"
                "e\u0301\xc3",
                nfc)
        == "\xff\u00e9\xc3");
  CHECK(in_form("e\x80\u0301", nfc) == "e\x80\u0301");
  CHECK(in_form("\xed\xa0\x80\xc0\xaf\xf4\x90\x80\x80", nfkc)
        == "\xed\xa0\x80\xc0\xaf\xf4\x90\x80\x80");
  CHECK(in_form("\xe2\x84\xa6\xe2\x84", nfc) == "\u03a9\xe2\x84");
}

TEST_CASE("normalize_text: a long run of combining characters is a bad sample, and no long wait") {
  const auto run = [](std::size_t n) {
    std::string text = "a";
    for (std::size_t i = 0; i < n; ++i)
      text += i % 2 == 0 ? "\u0301" : "\u0316";
    return text;
  };
  CHECK(in_form(run(1000), unicode_form::nfd).size() == run(1000).size());
  CHECK(cause_of([&] { in_form(run(1001), unicode_form::nfd); }) == cause::too_large);
  CHECK(in_form(run(1001), unicode_form::keep) == run(1001));
  std::string many;
  for (int i = 0; i < 100; ++i)
    many += run(1000);
  CHECK(in_form(many, unicode_form::nfc).size() < many.size());
}

TEST_CASE("length_between counts elements") {
  sample x;
  x.set("f", tokens{1, 2, 3}, {3});
  CHECK(length_between("f", 3, 3).make()(x));
  CHECK_FALSE(length_between("f", 4, {}).make()(x));
  CHECK_FALSE(length_between("f", {}, 2).make()(x));
  CHECK(keeps(length_between("f", 2, 2), "ab"));
  x.set("n", 1);
  CHECK(cause_of([&] { length_between("n", {}, {}).make()(x); }) == cause::wrong_shape);
}

TEST_CASE("what text_quality counts") {
  const auto of = count_text("Two words.\n\n - 42 %\tü2\r\nTwo words. \nEnd...\n* so\xe2\x80\xa6");
  CHECK(of.words == 11);
  CHECK(of.words_with_letters == 7);
  CHECK(of.characters == 9 + 1 + 2 + 1 + 2 + 9 + 6 + 1 + 3);
  CHECK(of.letters == 8 + 1 + 8 + 3 + 3);
  CHECK(of.digits == 3);
  CHECK(of.symbols == 1 + 1 + 1 + 1 + 3 + 1);
  CHECK(of.lines == 5);
  CHECK(of.repeated_lines == 1);
  CHECK(of.ended_lines == 4);
  CHECK(of.bullet_lines == 2);
  CHECK(of.ellipsis_lines == 2);
  const auto none = count_text(" \n\t");
  CHECK(none.words + none.characters + none.lines == 0);
  CHECK(count_text("\x80\xbf").characters == 0);
  CHECK(count_text("\x01").symbols == 0);
}

TEST_CASE("text_quality keeps what is within all bounds") {
  const std::string text = "some 12 words\nsome 12 words\n- x!"; // 8 words, 25 characters, 3 lines
  const auto kept = [&](const text_quality_options& bounds) {
    return keeps(text_quality("f", bounds), text);
  };
  CHECK(kept({.min_words = 8, .max_words = 8}));
  CHECK_FALSE(kept({.min_words = 9}));
  CHECK_FALSE(kept({.max_words = 7}));
  CHECK(kept({.min_word_length = 25.0 / 8, .max_word_length = 25.0 / 8}));
  CHECK_FALSE(kept({.min_word_length = 3.126}));
  CHECK_FALSE(kept({.max_word_length = 3.124}));
  CHECK(kept({.min_letters = 19.0 / 25, .max_digits = 4.0 / 25, .max_symbols = 2.0 / 25}));
  CHECK_FALSE(kept({.min_letters = 0.77}));
  CHECK_FALSE(kept({.max_digits = 0.15}));
  CHECK_FALSE(kept({.max_symbols = 0.07}));
  CHECK(kept({.min_words_with_letters = 5.0 / 8}));
  CHECK_FALSE(kept({.min_words_with_letters = 0.63}));
  const auto third = 1.0 / 3;
  CHECK(kept({.max_repeated_lines = third, .min_ended_lines = third, .max_bullet_lines = third}));
  CHECK_FALSE(kept({.max_repeated_lines = 0.33}));
  CHECK_FALSE(kept({.min_ended_lines = 0.34}));
  CHECK_FALSE(kept({.max_bullet_lines = 0.33}));
  CHECK(kept({.max_ellipsis_lines = 0}));
  CHECK_FALSE(kept({.min_words = 8, .max_digits = 0}));
  CHECK_FALSE(keeps(text_quality("f", {.min_letters = 0.1}), ""));
  CHECK(keeps(text_quality("f", {.max_digits = 0}), ""));
}

TEST_CASE("matches keeps what a regular expression matches") {
  if (const auto problem = problem_of([] { matches("f", "a"); })) {
    CHECK(problem->details().got == "a build of leat without RE2");
    return;
  }
  CHECK(keeps(matches("f", "b+c"), "abbcd"));
  CHECK_FALSE(keeps(matches("f", "b+c"), "ac"));
  CHECK_FALSE(keeps(matches("f", "b+c", {.whole = true}), "abbcd"));
  CHECK_FALSE(keeps(matches("f", "b+c", {.whole = true}), "bbcd"));
  CHECK(keeps(matches("f", "b+c", {.whole = true}), "bbc"));
  CHECK(keeps(matches("f", "b+c", {.invert = true}), "ac"));
  CHECK_FALSE(keeps(matches("f", "b+c", {.whole = true, .invert = true}), "bbc"));
  CHECK(keeps(matches("f", "^.$"), "ü")); // characters, not bytes
  CHECK_FALSE(keeps(matches("f", "^.$"), "\xff"));
  CHECK(keeps(matches("f", "a b,{1,2}"), "xa b,,x"));
  // A backtracking matcher would take more than a lifetime.
  CHECK_FALSE(keeps(matches("f", "(a*)*b"), std::string(100'000, 'a')));
  CHECK_THROWS_AS(matches("f", "(a"), error);
  CHECK_THROWS_AS(matches("f", ""), error);
  sample x;
  x.set("f", 1);
  CHECK(cause_of([&] { matches("f", "a").make()(x); }) == cause::wrong_shape);
}

TEST_CASE("any text is one word in percent form, and is read again") {
  CHECK(percent_text("plain-ü") == "plain-ü");
  CHECK(percent_text("a b\n,%\x7f") == "a%20b%0A%2C%25%7F");
  CHECK(percent_text("\xc3") == "%C3");
  std::string all;
  for (int byte = 0; byte < 256; ++byte)
    all += static_cast<char>(byte);
  all += "üa€😀";
  CHECK(text_of_percent(percent_text(all)) == all);
  CHECK(text_of_percent("%c3%BC") == "ü");
  for (const auto* wrong : {"%", "a%2", "%zz", "%2z", "%-1", "% 1"})
    CHECK(text_of_percent(wrong) == std::nullopt);
}

} // namespace

} // namespace leat::text_functions_test
