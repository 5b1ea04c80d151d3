#include "runtime/pipeline/tokenizer/tekken_file.hpp"

#include "runtime/pipeline/tokenizer/base64.hpp"
#include "runtime/pipeline/tokenizer/rank_file.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace leat {

namespace {

/// Those that files without a list of special tokens have.
constexpr token_id begin_of_text = 1;

std::vector<ranked_text> ranks_in(const file_part& vocabulary, std::size_t most) {
  std::vector<ranked_text> all;
  for (const auto& x : vocabulary.list()) {
    if (all.size() == most)
      break;
    const auto number = static_cast<token_id>(all.size());
    auto bytes = bytes_of_base64(x.at("token_bytes").text());
    if (!bytes || bytes->empty() || bytes->size() > most_token_bytes
        || x.at("rank").number() != number)
      x.refuse("tokens in the order of their ranks, each with its bytes in base64");
    all.push_back({std::move(*bytes), number});
  }
  return all;
}

} // namespace

bool is_tekken(const nlohmann::json& all) {
  return all.contains("config") && all.contains("vocab") && !all.contains("model");
}

tokenizer_parts parts_of_tekken(const nlohmann::json& all, const std::string& file) {
  const file_part root{all, "tekken"};
  const auto config = root.at("config");
  const auto special = config.at("default_num_special_tokens").number();
  const auto size = config.at("default_vocab_size").number();
  if (size <= special)
    config.refuse("more tokens than special ones");
  auto parts = parts_of_ranks(ranks_in(root.at("vocab"), size - special),
                              config.at("pattern").text(), special, file);
  token_id begin = begin_of_text;
  for (const auto& x : root.at("special_tokens").list()) {
    const auto rank = x.at("rank").number();
    const auto text = x.at("token_str").text();
    if (rank >= special)
      x.refuse("special tokens with ranks below " + std::to_string(special));
    if (text == "<s>")
      begin = rank;
    parts.texts.insert_or_assign(rank, text);
  }
  parts.before = {begin};
  return parts;
}

} // namespace leat
