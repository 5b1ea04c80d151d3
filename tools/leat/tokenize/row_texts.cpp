#include "tools/leat/tokenize/row_texts.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/number_as.hpp"
#include "runtime/base/text.hpp"
#include "runtime/pipeline/functions/percent_text.hpp"
#include "runtime/pipeline/sentencepiece/piece_model.hpp"
#include "runtime/storage/whole_file.hpp"

#include <leat/pipeline_facts.hpp>
#include <leat/tokenize.hpp>

#include "tools/leat/token_field.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <type_traits>
#include <utility>

namespace leat::command {

namespace {

constexpr auto stage = "--text";
constexpr std::size_t most_model_bytes = std::size_t{1} << 30;

/// A path among a map's parameters.
std::string path_in(const std::string& parameters, std::string_view name) {
  return text_of_percent(parameter_in(parameters, name, "")).value_or("");
}

/// The tokenizer of the first map that has one.
tokenizer_choice tokenizer_in(const operator_facts& root) {
  tokenizer_choice found;
  for_each_operator(root, [&](const operator_facts& x) {
    if (!found.file.empty() || !is_map(x))
      return;
    const auto name = x.get<std::string>("name");
    const auto parameters = x.get<std::string>("parameters");
    if (name == "sentencepiece@1")
      found = {.file = path_in(parameters, "model"), .encoding = {}};
    if (name == "tokenize@1")
      found = {.file = path_in(parameters, "tokenizer"),
               .encoding = parameter_in(parameters, "encoding", "")};
  });
  return found;
}

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

/// The elements of one row as numbers of tokens; nothing for negative ones.
std::vector<std::uint32_t> tokens_of_row(const field_view& x, std::size_t first, std::size_t end) {
  std::vector<std::uint32_t> tokens;
  visit_type(x.type, [&](auto zero) {
    using number = decltype(zero);
    if constexpr (std::is_integral_v<number>) {
      for (auto i = first; i < end; ++i) {
        number value;
        std::memcpy(&value, x.data + i * sizeof value, sizeof value);
        if (std::in_range<std::uint32_t>(value))
          tokens.push_back(static_cast<std::uint32_t>(value));
      }
    }
  });
  return tokens;
}

} // namespace

row_texts::row_texts(const pipeline& job, tokenizer_choice by) {
  const auto facts = operators_of(job);
  field_ = token_field(facts);
  if (field_.empty())
    refuse_argument(stage, "a job without tokens", "one with a tokenizer, or with files of tokens");
  if (by.file.empty())
    by = tokenizer_in(facts);
  if (by.file.empty())
    refuse_argument(stage, "a job without a tokenizer", "--tokenizer FILE");
  if (is_sentencepiece(by)) {
    const auto bytes = read_whole_file(by.file, most_model_bytes, stage);
    decode_ = [of = parse_piece_model(bytes, by.file)](std::span<const std::uint32_t> tokens) {
      return text_of_pieces(of, tokens);
    };
  } else {
    tokenize_options options;
    options.type = dtype::u32;
    options.encoding = by.encoding;
    decode_ = [of = token_encoder{by.file, options}](std::span<const std::uint32_t> tokens) {
      return of.decode(tokens);
    };
  }
}

std::vector<std::string> row_texts::of(const batch& x) const {
  const auto names = x.fields();
  if (std::find(names.begin(), names.end(), field_) == names.end())
    refuse_argument(stage, "batches without the field " + excerpt(field_), "the field of tokens");
  const auto all = x.field(field_);
  const auto per_row = x.size() == 0 ? 0 : all.size() / x.size();
  std::vector<std::string> texts;
  for (std::size_t row = 0; row < x.size(); ++row) {
    if (x.valid()[row] == 0)
      continue;
    const auto first = all.is_ragged() ? all.offsets[row] : row * per_row;
    const auto end = all.is_ragged() ? all.offsets[row + 1] : first + per_row;
    texts.push_back(decode_(tokens_of_row(all, first, end)));
  }
  return texts;
}

} // namespace leat::command
