#pragma once

#include <leat/pipeline.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace leat {

/// A value of an enum, and the word that stands for it in an operator's options.
template <class T>
struct option_word {
  std::string_view word;
  T value;
};

/// All words of an enum, in the order in which errors list them.
template <class T, std::size_t N>
using option_words = std::array<option_word<T>, N>;

inline constexpr option_words<shuffle_kind, 3> shuffle_kinds{{{"full", shuffle_kind::full},
                                                              {"windowed", shuffle_kind::windowed},
                                                              {"none", shuffle_kind::none}}};
inline constexpr option_words<epoch_end, 4> epoch_ends{{{"auto", epoch_end::automatic},
                                                        {"drop", epoch_end::drop},
                                                        {"mask", epoch_end::mask},
                                                        {"cycle", epoch_end::cycle}}};
inline constexpr option_words<file_format, 3> file_formats{
    {{"tar", file_format::tar},
     {"lines", file_format::lines},
     {"json_lines", file_format::json_lines}}};
inline constexpr option_words<mix_rule, 2> mix_rules{
    {{"deficit", mix_rule::deficit}, {"random", mix_rule::random}}};
inline constexpr option_words<mix_stop, 3> mix_stops{
    {{"all", mix_stop::all}, {"first", mix_stop::first}, {"cycle", mix_stop::cycle}}};
inline constexpr option_words<mix_schedule, 2> mix_schedules{
    {{"steps", mix_schedule::steps}, {"cost", mix_schedule::cost}}};
inline constexpr option_words<pack_fit, 2> pack_fits{
    {{"first", pack_fit::first}, {"best", pack_fit::best}}};
inline constexpr option_words<pack_cut, 3> pack_cuts{
    {{"never", pack_cut::never}, {"above", pack_cut::above}, {"always", pack_cut::always}}};
inline constexpr option_words<deduplicate_kind, 2> deduplicate_kinds{
    {{"window", deduplicate_kind::window}, {"set", deduplicate_kind::set}}};

/// The word of a value; empty for a number that no value has.
template <class T, std::size_t N>
std::string word_of(T x, const option_words<T, N>& words) {
  const auto found =
      std::find_if(words.begin(), words.end(), [&](const auto& word) { return word.value == x; });
  return found == words.end() ? std::string{} : std::string{found->word};
}

/// The value that a word stands for; nothing for another word.
template <class T, std::size_t N>
std::optional<T> value_of(std::string_view word, const option_words<T, N>& words) {
  for (const auto& x : words)
    if (x.word == word)
      return x.value;
  return std::nullopt;
}

/// "full, windowed or none"
template <class T, std::size_t N>
std::string list_of(const option_words<T, N>& words) {
  std::string list;
  for (std::size_t i = 0; i < N; ++i)
    list += (i == 0 ? "" : i + 1 < N ? ", " : " or ") + std::string{words[i].word};
  return list;
}

} // namespace leat
