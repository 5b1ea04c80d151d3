#include "runtime/pipeline/sentencepiece/best_pieces.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace leat {

namespace {

/// For longer words it does not matter how far sums may be from 0: they are not remembered.
constexpr std::size_t most_exact_bytes = 16;
constexpr auto no_way = static_cast<std::size_t>(-1);

std::vector<std::pair<std::string_view, std::int32_t>> pieces_to_find(const piece_model& model) {
  std::vector<std::pair<std::string_view, std::int32_t>> all;
  for (std::size_t i = 0; i < model.pieces.size(); ++i)
    if (const auto& x = model.pieces[i];
        x.type == piece_type::normal || x.type == piece_type::user_defined)
      all.emplace_back(x.text, static_cast<std::int32_t>(i));
  return all;
}

} // namespace

best_pieces::best_pieces(const piece_model& model)
    : model_(model), pieces_(pieces_to_find(model)), lowest_(std::numeric_limits<float>::max()),
      highest_(std::numeric_limits<float>::min()) {
  constexpr float unknown_penalty = 10;
  std::size_t longest = 0;
  for (const auto& piece : model.pieces) {
    scores_.push_back(piece.score);
    longest = std::max(longest, piece.text.size());
    if (piece.type == piece_type::normal) {
      lowest_ = std::min(lowest_, piece.score);
      highest_ = std::max(highest_, piece.score);
    }
  }
  unknown_score_ = lowest_ - unknown_penalty;
  const auto of_defined = static_cast<double>(longest) * std::abs(double{highest_}) + 1;
  largest_ = std::max(
      {std::abs(double{lowest_}) + unknown_penalty, std::abs(double{highest_}), of_defined});
}

double best_pieces::score_of(std::int32_t id, std::size_t length) const {
  const auto& piece = model_.pieces[static_cast<std::size_t>(id)];
  return piece.type == piece_type::user_defined
             ? static_cast<double>(static_cast<float>(length) * highest_) - 0.1
             : static_cast<double>(scores_[static_cast<std::size_t>(id)]);
}

template <bool is_exact>
void best_pieces::follow(std::string_view word, float sum, scratch& with) const {
  auto& ways = with.ways;
  ways.assign(word.size() + 1, {-1, 0, no_way});
  ways[0].sum = sum;
  if constexpr (is_exact) {
    constexpr auto none = -std::numeric_limits<double>::infinity();
    with.exact.assign(word.size() + 1, {none, none, no_way});
    with.exact[0].score = 0;
  }
  const auto offer = [&](std::size_t begin, std::size_t end, std::int32_t id, double score,
                         double exact_score) {
    if (auto& x = ways[end]; x.begin == no_way || score > static_cast<double>(x.sum))
      x = {id, static_cast<float>(score), begin};
    if constexpr (is_exact) {
      auto& x = with.exact[end];
      if (const auto all = with.exact[begin].score + exact_score; all > x.score)
        x = {all, x.score, begin};
      else
        x.second = std::max(x.second, all);
    }
  };
  for (std::size_t begin = 0; begin < word.size();) {
    const auto character = character_bytes(word.substr(begin));
    const auto so_far = ways[begin].sum;
    bool has_character = false;
    std::uint32_t at = 0;
    for (std::size_t end = begin; end < word.size();) {
      at = pieces_.next(at, word[end++]);
      if (at == 0)
        break;
      const auto id = pieces_.id(at);
      if (id == piece_trie::none)
        continue;
      const auto score = score_of(id, end - begin);
      offer(begin, end, id, score + static_cast<double>(so_far), score);
      has_character = has_character || end - begin == character;
    }
    if (!has_character)
      offer(begin, begin + character, model_.unknown, static_cast<double>(unknown_score_ + so_far),
            static_cast<double>(unknown_score_));
    begin += character;
  }
}

/// Every sum is rounded once for each piece, so two sums of one word are wrong by `2 * bytes` of
/// the largest rounding at most. Twice as much has to be between the best and the second best.
/// No sum within reach may overflow, because infinite ones are equal whatever they add up.
float best_pieces::reach_of(std::size_t bytes, const scratch& with) const {
  constexpr float none = -1;
  auto least = std::numeric_limits<double>::max();
  for (auto end = bytes; end > 0; end = with.ways[end].begin) {
    const auto& x = with.exact[end];
    if (x.begin != with.ways[end].begin)
      return none;
    least = std::min(least, x.score - x.second);
  }
  const double rounding = std::ldexp(1.0, -std::numeric_limits<float>::digits);
  const auto n = static_cast<double>(bytes + 1);
  constexpr double largest_sum = std::numeric_limits<float>::max();
  return static_cast<float>(std::min(least / (4 * n * rounding), largest_sum) - n * largest_);
}

float best_pieces::find(std::string_view word, float& sum, scratch& with,
                        std::vector<found_piece>& to) const {
  const bool is_exact = word.size() < most_exact_bytes;
  is_exact ? follow<true>(word, sum, with) : follow<false>(word, sum, with);
  const auto had = static_cast<std::ptrdiff_t>(to.size());
  for (auto end = word.size(); end > 0; end = with.ways[end].begin) {
    const auto begin = with.ways[end].begin;
    to.push_back({word.substr(begin, end - begin), with.ways[end].id});
  }
  std::reverse(to.begin() + had, to.end());
  sum = with.ways[word.size()].sum;
  return is_exact ? reach_of(word.size(), with) : -1;
}

} // namespace leat
