#include "runtime/pipeline/sentencepiece/piece_encoder.hpp"

#include "runtime/pipeline/tokenizer/kept_memory.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace leat {

namespace {

std::vector<std::pair<std::string_view, std::int32_t>> defined_texts(const piece_model& model) {
  std::vector<std::pair<std::string_view, std::int32_t>> all;
  for (std::size_t i = 0; i < model.pieces.size(); ++i)
    if (model.pieces[i].type == piece_type::user_defined)
      all.emplace_back(model.pieces[i].text, static_cast<std::int32_t>(i));
  return all;
}

} // namespace

piece_encoder::piece_encoder(piece_model model)
    : model_(std::move(model)), defined_(defined_texts(model_)), normalizer_(model_, defined_),
      best_(model_), merged_(model_, defined_, ids_), is_cut_(may_be_cut()) {
  for (std::size_t i = 0; i < model_.pieces.size(); ++i) {
    const auto& piece = model_.pieces[i];
    const auto id = static_cast<std::int32_t>(i);
    ids_.emplace(piece.text, id);
    if (piece.type == piece_type::byte)
      bytes_[byte_of_piece(piece.text).value_or(0)] = id;
    if (is_cut_ && is_text_piece(piece.type))
      seams_.add_token(piece.text);
  }
}

/// Words are cut anyway; unused pieces of BPE depend on what came before.
bool piece_encoder::may_be_cut() const {
  const auto& all = model_.pieces;
  const bool is_unused =
      std::any_of(all.begin(), all.end(), [](auto& x) { return x.type == piece_type::unused; });
  return model_.kind != piece_model_kind::words
         && !(model_.kind == piece_model_kind::bpe && is_unused)
         && std::all_of(all.begin(), all.end(),
                        [](auto& x) { return has_whole_characters(x.text); });
}

std::vector<std::int32_t> piece_encoder::encode(std::string_view text) const {
  scratch with;
  std::vector<std::int32_t> tokens;
  encode(text, with, tokens);
  return tokens;
}

void piece_encoder::encode(std::string_view text, scratch& with,
                           std::vector<std::int32_t>& to) const {
  to.clear();
  const auto [normal, is_utf8] = normalizer_.run(text, with.normalized);
  float sum = 0;
  if (is_cut_ && is_utf8) {
    const auto* const end = normal.data() + normal.size();
    seams_.run(normal, [&](std::string_view part) { encode_part(part, end, sum, with, to); });
  } else if (!normal.empty()) {
    find(normal, sum, with);
    add_tokens(with.found, to);
  }
  free_large(with.normalized, with.found, with.ids, with.best.ways, with.merged.symbols,
             with.merged.pairs);
}

void piece_encoder::encode_part(std::string_view part, const char* readable, float& sum,
                                scratch& with, std::vector<std::int32_t>& to) const {
  const auto key = piece_cache::key_of(part, readable);
  if (key.is_short)
    if (const auto* known = with.known.find(key);
        known != nullptr && std::abs(sum) < known->reach) {
      const auto ids = known->pieces();
      to.insert(to.end(), ids.begin(), ids.end());
      if (model_.kind == piece_model_kind::unigram)
        sum = best_.sum_with(ids, sum);
      return;
    }
  const auto reach = find(part, sum, with);
  add_tokens(with.found, to);
  const auto is_plain = [&](const found_piece& x) { return type_of(x.id) == piece_type::normal; };
  if (!(reach > 0) || !key.is_short || !std::all_of(with.found.begin(), with.found.end(), is_plain))
    return;
  with.ids.clear();
  for (const auto& piece : with.found)
    with.ids.push_back(piece.id);
  with.known.put(key, with.ids, reach);
}

/// The pieces of a part, or of a whole text; returns what `best_pieces` does.
float piece_encoder::find(std::string_view part, float& sum, scratch& with) const {
  with.found.clear();
  switch (model_.kind) {
  case piece_model_kind::unigram:
    return best_.find(part, sum, with.best, with.found);
  case piece_model_kind::bpe:
    merged_.find(part, with.merged, with.found);
    break;
  case piece_model_kind::words:
    by_words(part, with.found);
    break;
  case piece_model_kind::characters:
    by_characters(part, with.found);
    break;
  }
  return std::numeric_limits<float>::max();
}

void piece_encoder::by_characters(std::string_view text, std::vector<found_piece>& to) const {
  while (!text.empty()) {
    const auto defined = defined_.longest(text);
    const auto character = text.substr(0, defined > 0 ? defined : character_bytes(text));
    to.push_back({character, id_of(character)});
    text.remove_prefix(character.size());
  }
}

/// A word begins with a space.
void piece_encoder::by_words(std::string_view text, std::vector<found_piece>& to) const {
  while (!text.empty()) {
    const auto end = text.find(visible_space, character_bytes(text));
    const auto word = text.substr(0, end);
    to.push_back({word, id_of(word)});
    text.remove_prefix(word.size());
  }
}

void piece_encoder::add_tokens(const std::vector<found_piece>& pieces,
                               std::vector<std::int32_t>& to) const {
  for (const auto& piece : pieces) {
    const bool is_unknown = type_of(piece.id) == piece_type::unknown;
    if (is_unknown && model_.byte_fallback)
      for (const auto byte : piece.text)
        to.push_back(bytes_[static_cast<unsigned char>(byte)]);
    else if (!is_unknown || to.empty() || to.back() != piece.id)
      to.push_back(piece.id); // one token stands for several unknown ones in a row
  }
}

std::int32_t piece_encoder::id_of(std::string_view text) const {
  const auto found = ids_.find(text);
  const bool is_piece = found != ids_.end() && is_text_piece(type_of(found->second));
  return is_piece ? found->second : model_.unknown; // what is written like a control token is text
}

} // namespace leat
