#include "runtime/base/map_parameters.hpp"
#include "runtime/pipeline/functions/percent_text.hpp"
#include "runtime/pipeline/sentencepiece/piece_model.hpp"
#include "runtime/storage/whole_file.hpp"

#include <leat/pipeline_facts.hpp>
#include <leat/tokenize.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

namespace leat {

namespace {

constexpr std::size_t most_decoded_model_bytes = std::size_t{1} << 30;

std::string text_of_pieces(const piece_model& by, std::span<const std::uint32_t> tokens) {
  constexpr std::string_view space = "\u2581";
  std::string text;
  for (const auto token : tokens) {
    if (token >= by.pieces.size())
      continue;
    const auto& piece = by.pieces[token];
    if (piece.type == piece_type::control)
      continue;
    if (piece.type == piece_type::byte) {
      if (const auto byte = byte_of_piece(piece.text))
        text += static_cast<char>(*byte);
      continue;
    }
    auto part = piece.text;
    for (auto at = part.find(space); at != std::string::npos; at = part.find(space, at + 1))
      part.replace(at, space.size(), " ");
    text += part;
  }
  return text;
}

/// The file that a tokenizer's parameters name.
std::string file_in(parameter_reader& from, const std::string& name) {
  const auto word = from.required(name);
  auto path = text_of_percent(word);
  if (!path)
    from.refuse(name + '=' + word, "%HH for any byte, and so %25 for a percent sign");
  return std::move(*path);
}

} // namespace

token_decoder::token_decoder(const std::string& tokenizer, const std::string& encoding) {
  tokenize_options options;
  options.type = dtype::u32;
  options.encoding = encoding;
  token_encoder by{tokenizer, options};
  last_token_ = by.last_token();
  decode_ = [by = std::move(by)](std::span<const std::uint32_t> tokens) {
    return by.decode(tokens);
  };
}

token_decoder token_decoder::of_sentencepiece(const std::string& model) {
  const auto bytes = read_whole_file(model, most_decoded_model_bytes, "sentencepiece@1");
  auto by = parse_piece_model(bytes, model); // which has pieces
  const auto last = static_cast<std::uint32_t>(by.pieces.size() - 1);
  return {[by = std::move(by)](std::span<const std::uint32_t> tokens) {
            return text_of_pieces(by, tokens);
          },
          last};
}

std::optional<token_decoder> token_decoder::of(const pipeline& job) {
  std::optional<token_decoder> found;
  for_each_operator(operators_of(job), [&](const operator_facts& x) {
    if (found.has_value() || !is_map(x))
      return;
    const auto name = x.get<std::string>("name");
    parameter_reader from{name, x.get<std::string>("parameters")};
    if (name == "sentencepiece@1")
      found = of_sentencepiece(file_in(from, "model"));
    if (name == "tokenize@1")
      found.emplace(file_in(from, "tokenizer"), from.optional("encoding").value_or(""));
  });
  return found;
}

} // namespace leat
