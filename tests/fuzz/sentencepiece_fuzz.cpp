// Any bytes are a model of SentencePiece, which makes tokens of any text, the same whatever texts
// came before, or are refused as an invalid argument.
#include "runtime/base/utf8.hpp"
#include "runtime/pipeline/sentencepiece/piece_encoder.hpp"
#include "tests/fuzz/checks.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace {

std::string end_of(const std::string& text) {
  auto half = text.substr(text.size() / 2);
  leat::make_utf8(half, 0);
  return half;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string all{reinterpret_cast<const char*>(data), size};
  // The last byte says how many bytes before it are the text.
  const auto text_size = size == 0 ? 0 : std::min<std::size_t>(size - 1, data[size - 1]);
  const auto model = all.substr(0, size == 0 ? 0 : size - 1 - text_size);
  std::string text = all.substr(model.size(), text_size);
  leat::make_utf8(text, 0);
  allow(leat::errc::invalid_argument, [&] {
    const leat::piece_encoder encoder{leat::parse_piece_model(model, "model")};
    const auto tokens = encoder.encode(text);
    for (const auto token : tokens)
      check(token >= 0 && static_cast<std::size_t>(token) < encoder.model().pieces.size());
    leat::piece_encoder::scratch with;
    std::vector<std::int32_t> again;
    encoder.encode(end_of(text), with, again); // what is remembered of it has no effect
    encoder.encode(text, with, again);
    check(again == tokens);
  });
  return 0;
}
