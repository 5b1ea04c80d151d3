#include "runtime/pipeline/sentencepiece/piece_encoder.hpp"

#include "runtime/base/utf8.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <utility>

namespace leat {

namespace {

constexpr std::string_view visible_space = "\u2581";

bool is_text(piece_type x) {
  return x == piece_type::normal || x == piece_type::user_defined || x == piece_type::unused;
}

using texts_with_ids = std::vector<std::pair<std::string_view, std::int32_t>>;

template <class Predicate>
texts_with_ids texts_of(const piece_model& model, Predicate is_meant) {
  texts_with_ids all;
  for (std::size_t i = 0; i < model.pieces.size(); ++i)
    if (is_meant(model.pieces[i].type))
      all.emplace_back(model.pieces[i].text, static_cast<std::int32_t>(i));
  return all;
}

/// Bytes of the character that a text begins with, by its first byte alone.
std::size_t character_bytes(std::string_view text) {
  constexpr std::array<std::size_t, 16> sizes{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4};
  return std::min(text.size(), sizes[static_cast<unsigned char>(text.front()) >> 4]);
}

/// A part of the text while pairs are merged, in a list.
struct symbol {
  std::size_t before;
  std::size_t after;
  /// Never merged.
  bool is_fixed;
  std::string_view text;
};

constexpr auto no_symbol = static_cast<std::size_t>(-1);

/// Two neighbours that are a piece together.
struct pair_of_symbols {
  std::size_t left;
  std::size_t right;
  float score;
  std::size_t size;
  /// The best score first, of equal ones the leftmost.
  friend bool operator<(const pair_of_symbols& a, const pair_of_symbols& b) noexcept {
    return a.score != b.score ? a.score < b.score : a.left > b.left;
  }
};

} // namespace

piece_encoder::piece_encoder(piece_model model)
    : model_(std::move(model)), rules_(model_.char_map), pieces_(texts_of(model_, is_text)),
      defined_(texts_of(model_, [](auto x) { return x == piece_type::user_defined; })),
      lowest_(std::numeric_limits<float>::max()), highest_(std::numeric_limits<float>::min()) {
  for (std::size_t i = 0; i < model_.pieces.size(); ++i) {
    const auto& piece = model_.pieces[i];
    const auto id = static_cast<std::int32_t>(i);
    ids_.emplace(piece.text, id);
    if (piece.type == piece_type::byte)
      bytes_[byte_of_piece(piece.text).value_or(0)] = id;
    if (piece.type == piece_type::normal) {
      lowest_ = std::min(lowest_, piece.score);
      highest_ = std::max(highest_, piece.score);
    }
  }
}

std::vector<std::int32_t> piece_encoder::encode(std::string_view text) const {
  const auto plain = normalized(text);
  std::vector<std::int32_t> tokens;
  bool was_unknown = false;
  for (const auto& piece : model_.is_bpe ? by_bpe(plain) : by_unigram(plain)) {
    const bool is_unknown = type_of(piece.id) == piece_type::unknown;
    if (is_unknown && model_.byte_fallback)
      for (const auto byte : piece.text)
        tokens.push_back(bytes_[static_cast<unsigned char>(byte)]);
    else if (!is_unknown || !was_unknown) // one token stands for several unknown ones in a row
      tokens.push_back(piece.id);
    was_unknown = is_unknown;
  }
  return tokens;
}

replaced_prefix piece_encoder::normalized_prefix(std::string_view text) const {
  if (const auto defined = defined_.longest(text); defined > 0)
    return {text.substr(0, defined), defined};
  if (const auto replaced = rules_.replace(text); replaced.size > 0)
    return replaced;
  const auto size = std::max<std::size_t>(utf8_length(text), 1);
  return {text.substr(0, size), size};
}

std::string piece_encoder::normalized(std::string_view text) const {
  const bool removes = model_.remove_extra_spaces;
  while (removes && !text.empty()) {
    const auto first = normalized_prefix(text);
    if (first.text != " ")
      break;
    text.remove_prefix(first.size);
  }
  std::string result;
  if (text.empty())
    return result;
  const auto space = model_.escape_spaces ? visible_space : std::string_view{" "};
  if (model_.add_dummy_prefix && !model_.space_is_suffix)
    result += space;
  bool after_space = removes;
  while (!text.empty()) {
    auto [part, size] = normalized_prefix(text);
    while (after_space && part.starts_with(' '))
      part.remove_prefix(1);
    for (const auto c : part)
      c == ' ' ? result += space : result += c;
    if (!part.empty())
      after_space = removes && part.ends_with(' ');
    text.remove_prefix(size);
  }
  while (removes && result.ends_with(space))
    result.resize(result.size() - space.size());
  if (model_.add_dummy_prefix && model_.space_is_suffix)
    result += space;
  return result;
}

/// Finds the pieces with the largest sum of scores. The arithmetic is SentencePiece's own, floats
/// and doubles alike: of nearly equal ways it has to choose the same.
std::vector<piece_encoder::found_piece> piece_encoder::by_unigram(std::string_view text) const {
  struct best_way {
    std::int32_t id = -1;
    float score = 0;
    std::size_t begin = no_symbol;
  };
  constexpr float unknown_penalty = 10;
  const float unknown_score = lowest_ - unknown_penalty;
  std::vector<best_way> ways(text.size() + 1);
  const auto offer = [&](std::size_t begin, std::size_t end, std::int32_t id, double score) {
    if (auto& way = ways[end]; way.begin == no_symbol || score > static_cast<double>(way.score))
      way = {id, static_cast<float>(score), begin};
  };
  for (std::size_t begin = 0; begin < text.size();) {
    const auto character = character_bytes(text.substr(begin));
    const auto so_far = ways[begin].score;
    bool has_character = false;
    std::uint32_t at = 0;
    for (std::size_t end = begin; end < text.size();) {
      at = pieces_.next(at, text[end++]);
      if (at == 0)
        break;
      const auto id = pieces_.id(at);
      if (id == piece_trie::none || type_of(id) == piece_type::unused)
        continue;
      const auto length = end - begin;
      const auto score =
          type_of(id) == piece_type::user_defined
              ? static_cast<double>(static_cast<float>(length) * highest_) - 0.1
              : static_cast<double>(model_.pieces[static_cast<std::size_t>(id)].score);
      offer(begin, end, id, score + static_cast<double>(so_far));
      has_character = has_character || length == character;
    }
    if (!has_character)
      offer(begin, begin + character, model_.unknown, static_cast<double>(unknown_score + so_far));
    begin += character;
  }
  std::vector<found_piece> found;
  for (auto end = text.size(); end > 0; end = ways[end].begin)
    found.push_back({text.substr(ways[end].begin, end - ways[end].begin), ways[end].id});
  std::reverse(found.begin(), found.end());
  return found;
}

std::int32_t piece_encoder::id_of(std::string_view text) const {
  const auto found = ids_.find(text);
  return found == ids_.end() ? model_.unknown : found->second;
}

void piece_encoder::take_apart(std::string_view piece,
                               const std::unordered_map<std::string_view, std::size_t>& merged_at,
                               std::vector<found_piece>& to) const {
  std::vector<std::string_view> left{piece};
  while (!left.empty()) {
    const auto text = left.back();
    left.pop_back();
    const auto id = id_of(text);
    const auto parts = merged_at.find(text);
    if (type_of(id) != piece_type::unused || parts == merged_at.end()) {
      to.push_back({text, id});
      continue;
    }
    left.push_back(text.substr(parts->second));
    left.push_back(text.substr(0, parts->second));
  }
}

/// Merges the best pair of neighbours, as long as there is one that is a piece.
std::vector<piece_encoder::found_piece> piece_encoder::by_bpe(std::string_view text) const {
  std::vector<symbol> symbols;
  for (std::size_t at = 0; at < text.size();) {
    const auto rest = text.substr(at);
    const auto defined = defined_.longest(rest);
    const auto size = defined > 0 ? defined : character_bytes(rest);
    const auto number = symbols.size();
    at += size;
    symbols.push_back({number == 0 ? no_symbol : number - 1,
                       at == text.size() ? no_symbol : number + 1, defined > 0,
                       rest.substr(0, size)});
  }
  std::priority_queue<pair_of_symbols> pairs;
  std::unordered_map<std::string_view, std::size_t> merged_at; // for unused pieces
  const auto join = [&](const symbol& left, const symbol& right) {
    return std::string_view{left.text.data(), left.text.size() + right.text.size()};
  };
  const auto consider = [&](std::size_t left, std::size_t right) {
    if (left == no_symbol || right == no_symbol || symbols[left].is_fixed
        || symbols[right].is_fixed)
      return;
    const auto joined = join(symbols[left], symbols[right]);
    const auto found = ids_.find(joined);
    if (found == ids_.end() || !is_text(type_of(found->second)))
      return;
    const auto& piece = model_.pieces[static_cast<std::size_t>(found->second)];
    pairs.push({left, right, piece.score, joined.size()});
    if (piece.type == piece_type::unused)
      merged_at[joined] = symbols[left].text.size();
  };
  for (std::size_t i = 1; i < symbols.size(); ++i)
    consider(i - 1, i);
  while (!pairs.empty()) {
    const auto best = pairs.top();
    pairs.pop();
    auto& left = symbols[best.left];
    auto& right = symbols[best.right];
    if (left.text.empty() || right.text.empty()
        || left.text.size() + right.text.size() != best.size)
      continue; // one of them has become a part of another
    left.text = join(left, right);
    left.after = right.after;
    if (right.after != no_symbol)
      symbols[right.after].before = best.left;
    right.text = {};
    consider(left.before, best.left);
    consider(best.left, left.after);
  }
  std::vector<found_piece> found;
  for (std::size_t i = symbols.empty() ? no_symbol : 0; i != no_symbol; i = symbols[i].after)
    take_apart(symbols[i].text, merged_at, found);
  return found;
}

} // namespace leat
