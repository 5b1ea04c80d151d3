#include "tests/support/catch.hpp"
#include "tests/support/standard.hpp"
#include "tests/support/temporary_directory.hpp"

#include <leat/functions.hpp>
#include <leat/loader.hpp>
#include <leat/sources.hpp>
#include <leat/streams.hpp>

#include "tools/leat/token_field.hpp"
#include "tools/leat/training_job.hpp"

namespace leat::command::token_field_test {
namespace {

std::string field_of(const pipeline& x) {
  return token_field(operators_of(x));
}

TEST_CASE("the field of tokens: of a pack, a tokenizer, a source of tokens, a mix with a cost") {
  const auto text = lines("a.txt");
  CHECK(field_of(count(4)).empty());
  CHECK(field_of(mix({text, text})).empty());
  CHECK(field_of(mix({text, text}, {.cost = "text"})) == "text");
  CHECK(field_of(tokens("x.bin", dtype::u16, 8).shuffle()) == "tokens");
  CHECK(field_of(mix({megatron("x"), megatron("y")}, {.cost = "other"})) == "tokens");
  CHECK(field_of(tokens("x.bin", dtype::u16, 8).map(rename("tokens", "b")).pack("b", 9)) == "b");
  CHECK(field_of(text.pack("text", 9).map(select({"text"}))) == "text");
}

/// Tokens of the first batches of one rank, and of what pack says.
std::uint64_t tokens_of(const pipeline& data, const std::string& field, int batches) {
  loader job{data, {.workers = 0}};
  std::uint64_t sum = 0;
  for (int i = 0; i < batches; ++i)
    sum += tokens_in(*job.next(), field);
  return sum;
}

TEST_CASE("tokens of a batch: of its valid rows, where the field holds numbers") {
  CHECK(tokens_of(count(10, 16).batch(4, {.end = epoch_end::mask}), "value", 3) == 10 * 16);
  CHECK(tokens_of(count(10, 16).batch(4), "other", 2) == 0);
  CHECK(tokens_of(count(10, 16).batch(4), "", 2) == 0);
  CHECK(tokens_of(count(10, 16).map(ragged("value")).batch(4), "value", 2) == 0); // bytes: text
  CHECK(tokens_of(count(10, 16).pack("value", 40).batch(1, {.lanes = 1}), "value", 2) == 80);
}

TEST_CASE("a job counts the tokens that its ranks were given") {
  training_settings settings{.loader = {.world_size = 2, .workers = 1, .epochs = 1}, .ranks = 2};
  training_job job{count(40, 16).pack("value", 32).batch(4, {.lanes = 4, .end = epoch_end::mask}),
                   settings};
  std::uint64_t last = 0;
  job.run([&](const training_progress& now) {
    CHECK(now.tokens == now.samples * 32);
    CHECK(now.tokens > last);
    last = now.tokens;
  });
  CHECK(last >= 40 * 16);
}

} // namespace
} // namespace leat::command::token_field_test
