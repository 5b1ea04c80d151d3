#include "runtime/pipeline/tokenizer/rank_file.hpp"

#include "runtime/base/error_in_flight.hpp"
#include "runtime/base/text.hpp"
#include "runtime/pipeline/tokenizer/base64.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>

namespace leat {

namespace {

constexpr auto rank_stage = "tokenize@1";

// The patterns that tiktoken and the makers of these models publish, in a form without possessive
// repetitions, which match alike.
constexpr std::string_view gpt2 =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view cl100k =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s+$|\s*[\r\n]|\s+(?!\S)|\s)";
constexpr std::string_view llama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view o200k =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view qwen =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*)"
    R"(|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view qwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N})"
    R"(| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::array<std::pair<std::string_view, std::string_view>, 10> encodings{
    {{"gpt2", gpt2},
     {"r50k_base", gpt2},
     {"p50k_base", gpt2},
     {"p50k_edit", gpt2},
     {"cl100k_base", cl100k},
     {"o200k_base", o200k},
     {"o200k_harmony", o200k},
     {"llama3", llama3},
     {"qwen", qwen},
     {"qwen35", qwen35}}};

[[noreturn]] void refuse_ranks(const std::string& file, std::string got, std::string needed) {
  throw_file_error(errc::invalid_argument, rank_stage, file, std::move(got), std::move(needed));
}

/// Nothing for a line that is none of ranks.
std::optional<ranked_text> parse_line(std::string_view line) {
  const auto space = line.find(' ');
  auto text = bytes_of_base64(line.substr(0, space));
  const auto digits = space == std::string_view::npos ? "" : line.substr(space + 1);
  token_id rank = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  if (!text || text->empty() || text->size() > most_token_bytes || failure != std::errc{}
      || end != digits.data() + digits.size() || rank >= most_tokens)
    return std::nullopt;
  return ranked_text{std::move(*text), rank};
}

/// The first line of a text, without its end, which is removed from the text.
std::string_view take_line(std::string_view& text) {
  auto line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  return line;
}

} // namespace

std::vector<ranked_text> parse_rank_file(std::string_view text, const std::string& file) {
  std::vector<ranked_text> all;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto line = take_line(text);
    if (line.empty())
      continue;
    auto parsed = parse_line(line);
    if (!parsed)
      refuse_ranks(file, "line " + std::to_string(number) + ": " + excerpt(line),
                   "a token of at most 512 bytes in base64, a space, and its number, below "
                       + std::to_string(most_tokens));
    all.push_back(std::move(*parsed));
  }
  return all;
}

bool begins_as_ranks(std::string_view text) {
  return parse_line(take_line(text)).has_value();
}

void refuse_ranks_without_encoding(const char* stage, const std::string& file) {
  throw_file_error(errc::invalid_argument, stage, file,
                   "a file of ranks as tiktoken has them, without the name of its encoding",
                   "tokenize@1 with encoding=, or a command with --encoding, one of "
                       + known_encodings());
}

std::string known_encodings() {
  std::string all;
  for (const auto& [name, pattern] : encodings)
    (all += all.empty() ? "" : ", ") += name;
  return all;
}

std::string_view pattern_of_encoding(const std::string& name) {
  for (const auto& [known, pattern] : encodings)
    if (known == name)
      return pattern;
  refuse_argument(rank_stage, "encoding=" + excerpt(name), "one of " + known_encodings());
}

tokenizer_parts parts_of_ranks(const std::vector<ranked_text>& all, std::string_view pattern,
                               token_id offset, const std::string& file) {
  tokenizer_parts result;
  byte_pairs::model model;
  tokens_by_text by_text;
  for (const auto& x : all) {
    const auto id = x.rank + offset;
    if (!result.texts.emplace(id, x.bytes).second || !by_text.emplace(x.bytes, id).second)
      refuse_ranks(file,
                   "the token " + excerpt(x.bytes) + " twice, or two with the number "
                       + std::to_string(x.rank),
                   "each of them once");
  }
  for (std::size_t i = 0; i < num_bytes; ++i) {
    const auto found = by_text.find(std::string(1, static_cast<char>(i)));
    if (found == by_text.end())
      refuse_ranks(file, "no token for the byte " + std::to_string(i), "one for each of the 256");
    model.bytes[i] = found->second;
  }
  for (const auto& [text, id] : by_text)
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      const auto left = by_text.find(std::string_view{text}.substr(0, cut));
      const auto right = by_text.find(std::string_view{text}.substr(cut));
      if (left != by_text.end() && right != by_text.end())
        model.merges.push_back({left->second, right->second, id, id});
    }
  model.whole = std::move(by_text);
  result.model = std::move(model);
  // What lies between matches is left out, as tiktoken does: a tekken.json may have any pattern.
  result.steps.emplace_back(split_step{.by = std::make_shared<const split_automaton>(
                                           parse_split_pattern(pattern, pattern_syntax::rust)),
                                       .rule = split_rule::removed,
                                       .is_inverted = true});
  return result;
}

} // namespace leat
