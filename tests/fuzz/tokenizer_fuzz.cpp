// Any bytes are a tokenizer.json or a file of ranks, which makes tokens of any text, the same with
// what is kept from before and without, or are refused: as an invalid argument, or as unknown.
#include "runtime/base/utf8.hpp"
#include "runtime/pipeline/tokenizer/rank_file.hpp"
#include "runtime/pipeline/tokenizer/text_tokenizer.hpp"
#include "runtime/pipeline/tokenizer/tokenizer_json.hpp"
#include "runtime/pipeline/tokenizer/unsupported_tokenizer.hpp"
#include "tests/fuzz/checks.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace {

void encode(const leat::text_tokenizer& by, const std::string& text) {
  leat::text_tokenizer::scratch kept;
  std::vector<leat::token_id> first;
  by.encode(text, {.adds_special = true}, kept, first);
  std::vector<leat::token_id> again;
  by.encode(text, {.adds_special = true}, kept, again);
  check(first == again);
  touch(by.decode(first));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0)
    return 0;
  // The last byte says how many bytes before it are the text.
  const std::string all{reinterpret_cast<const char*>(data), size - 1};
  const auto text_size = std::min<std::size_t>(all.size(), data[size - 1]);
  const auto file = all.substr(0, all.size() - text_size);
  std::string text = all.substr(file.size());
  leat::make_utf8(text, 0);
  try {
    allow(leat::errc::invalid_argument, [&] {
      encode(leat::text_tokenizer{leat::parse_tokenizer_json(file, "file").parts}, text);
    });
    allow(leat::errc::invalid_argument, [&] {
      const auto ranks = leat::parse_rank_file(file, "file");
      encode(leat::text_tokenizer{leat::parts_of_ranks(ranks, text, 0, "file")}, text);
    });
  } catch (const leat::unsupported_tokenizer&) {
  }
  return 0;
}
