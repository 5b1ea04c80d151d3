#include "tests/support/applied_map.hpp"
#include "tests/support/files.hpp"
#include "tests/support/temporary_directory.hpp"
#include "tests/support/test.hpp"

#include <leat/bad_sample.hpp>
#include <leat/tokenize.hpp>

#include <string>
#include <vector>

namespace leat::tokenize_test {
namespace {

using ids = std::vector<std::uint32_t>;

/// Tokens of "▁", "a", "b", "▁ab", and of bytes.
std::string small() {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    constexpr char digits[] = "0123456789ABCDEF";
    bytes +=
        std::string{", \"<0x"} + digits[i / 16] + digits[i % 16] + ">\": " + std::to_string(i + 6);
  }
  return R"({"normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    "model": {"type": "BPE", "byte_fallback": true, "vocab": {"▁": 0, "a": 1, "b": 2, "ab": 3,
    "▁ab": 4, "<s>": 5)"
         + bytes + R"(}, "merges": ["a b", "▁ ab"]}})";
}

TEST_CASE("single texts have the tokens that the map sets, and come back") {
  const auto x = token_encoder::of_content("small", small());
  CHECK(x.encode("") == ids{});
  CHECK(x.encode("ab ab") == ids{3, 4});
  CHECK(x.encode("é") == ids{6 + 0xc3, 6 + 0xa9});
  CHECK(x.decode(x.encode("b ab\né")) == "b ab\né");
  CHECK(x.decode(ids{1, 99999}) == "a");
  CHECK(x.last_token() == 261);
  CHECK_THROWS_AS(x.encode("a\xff"), bad_sample);
  CHECK(token_encoder::of_content("small", small(), {.max_tokens = 1}).encode("ab ab") == ids{3});
  CHECK(x.stage().name == "tokenize@1");
  CHECK(x.stage().parameters == tokenize_content("small", small()).parameters);
}

TEST_CASE("a type that has no room for the tokens is refused, and a file that is no tokenizer") {
  const auto code = [](auto call) {
    const auto problem = problem_of(call);
    return problem ? problem->code() : errc{};
  };
  CHECK(code([] { token_encoder::of_content("small", small(), {.type = dtype::u8}); })
        == errc::invalid_argument);
  CHECK(code([] { token_encoder::of_content("small", small(), {.type = dtype::f32}); })
        == errc::invalid_argument);
  CHECK(code([] { token_encoder::of_content("small", "{}"); }) == errc::invalid_argument);
  CHECK(code([] { token_encoder{"/nonexistent/tokenizer.json"}; }) == errc::not_found);
}

TEST_CASE("the type that has no room is named with the tokens, and ranks need their encoding") {
  const auto type =
      problem_of([] { token_encoder::of_content("small", small(), {.type = dtype::u8}); });
  REQUIRE(type);
  CHECK(type->details().got == "dtype=u8 for tokens up to 261");
  CHECK(type->details().needed == "a type that has room for them, such as i32");
  const auto ranks = problem_of([] { token_encoder::of_content("a.tiktoken", "IQ== 0\n"); });
  REQUIRE(ranks);
  CHECK(ranks->details().file == "a.tiktoken");
  CHECK(ranks->details().got
        == "a file of ranks as tiktoken has them, without the name of its encoding");
  CHECK(ranks->details().needed.find("encoding") != std::string::npos);
  CHECK(ranks->details().needed.find("gpt2, r50k_base, p50k_base") != std::string::npos);
}

} // namespace
} // namespace leat::tokenize_test
