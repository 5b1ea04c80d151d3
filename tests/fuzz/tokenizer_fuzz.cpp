// Any bytes are a tokenizer.json or a file of ranks, which makes tokens of any text, the same with
// what is kept from before and without, or are refused: as an invalid argument, or as unknown. As
// no fuzzer finds a whole tokenizer.json, most inputs are choices from which one is written. Its
// pairs are also merged one by one, as they are defined to be, and bytes come back from tokens.
#include "runtime/base/utf8.hpp"
#include "runtime/pipeline/tokenizer/rank_file.hpp"
#include "runtime/pipeline/tokenizer/text_tokenizer.hpp"
#include "runtime/pipeline/tokenizer/tokenizer_json.hpp"
#include "runtime/pipeline/tokenizer/unsupported_tokenizer.hpp"
#include "tests/fuzz/checks.hpp"
#include "tests/fuzz/tokenizer_choices.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace {

using leat::token_id;
using leat::fuzz::choices;
using ids = std::vector<token_id>;

/// What a text begins as, before any pair is merged; nothing for a model of characters.
ids tokens_of_bytes(const leat::byte_pairs::model& of, std::string_view text) {
  ids all;
  for (const auto c : text)
    if (const auto id = of.bytes[static_cast<unsigned char>(c)]; id != leat::no_token)
      all.push_back(id);
  return all;
}

ids tokens_of_characters(const leat::byte_pairs::model& of, std::string_view text) {
  ids all;
  bool was_unknown = false;
  while (!text.empty()) {
    const auto x = leat::decode_character(text.data());
    const auto found = of.characters.find(x.code_point);
    const bool is_unknown = found == of.characters.end() && !of.has_bytes;
    if (found != of.characters.end())
      all.push_back(found->second);
    else if (of.has_bytes)
      for (const auto c : text.substr(0, x.size))
        all.push_back(of.bytes[static_cast<unsigned char>(c)]);
    else if (of.unknown != leat::no_token && !(was_unknown && of.fuses_unknown))
      all.push_back(of.unknown);
    was_unknown = is_unknown;
    text.remove_prefix(x.size);
  }
  return all;
}

/// By definition: of all neighbours that are a pair those of the smallest rank, the first of equal
/// ones, again and again.
class merged_one_by_one {
public:
  explicit merged_one_by_one(const leat::byte_pairs::model& of) : of_(of) {
    for (const auto& x : of.merges)
      pairs_.insert_or_assign({x.left, x.right}, std::pair{x.rank, x.into});
  }

  void add(std::string_view text, ids& to) const {
    if (const auto found = of_.whole.find(text); found != of_.whole.end())
      return to.push_back(found->second);
    auto all =
        of_.characters.empty() ? tokens_of_bytes(of_, text) : tokens_of_characters(of_, text);
    for (;;) {
      std::optional<std::size_t> best;
      std::pair<std::uint32_t, token_id> of_best;
      for (std::size_t i = 0; i + 1 < all.size(); ++i)
        if (const auto found = pairs_.find({all[i], all[i + 1]});
            found != pairs_.end() && (!best || found->second.first < of_best.first)) {
          best = i;
          of_best = found->second;
        }
      if (!best)
        break;
      all[*best] = of_best.second;
      all.erase(all.begin() + static_cast<std::ptrdiff_t>(*best) + 1);
    }
    to.insert(to.end(), all.begin(), all.end());
  }

private:
  const leat::byte_pairs::model& of_;
  std::map<std::pair<token_id, token_id>, std::pair<std::uint32_t, token_id>> pairs_;
};

/// The text's parts, cut by each of the steps; nothing where one of them changes texts. Where a
/// text may be cut without a change to its tokens, it is not.
std::optional<std::vector<std::string_view>> parts_of(const leat::tokenizer_parts& of,
                                                      std::string_view text) {
  std::vector<std::string_view> parts;
  if (!text.empty())
    parts.push_back(text);
  for (const auto& step : of.steps) {
    if (std::holds_alternative<leat::space_step>(step))
      return std::nullopt;
    const auto* split = std::get_if<leat::split_step>(&step);
    if (!split)
      continue;
    std::vector<std::string_view> smaller;
    for (const auto part : parts)
      split->run(part, [&](std::string_view x) { smaller.push_back(x); });
    parts = std::move(smaller);
  }
  return parts;
}

std::optional<ids> by_definition(const leat::tokenizer_parts& of, std::string_view text) {
  const auto* pairs = std::get_if<leat::byte_pairs::model>(&of.model);
  if (!pairs || !of.normalizers.empty() || !of.added.empty())
    return std::nullopt;
  const auto parts = parts_of(of, text);
  if (!parts)
    return std::nullopt;
  const merged_one_by_one by{*pairs};
  ids all;
  for (const auto part : *parts)
    by.add(part, all);
  return all;
}

ids encoded(const leat::text_tokenizer& by, const std::string& text,
            leat::text_tokenizer::scratch& with, bool adds_special = false) {
  ids tokens;
  by.encode(text, {.adds_special = adds_special}, with, tokens);
  return tokens;
}

void encode(leat::tokenizer_parts parts, const std::string& text, bool keeps_bytes) {
  const auto wanted = by_definition(parts, text);
  const leat::text_tokenizer by{std::move(parts)};
  leat::text_tokenizer::scratch kept;
  const auto first = encoded(by, text, kept);
  check(!wanted || first == *wanted);
  check(first == encoded(by, text, kept));
  if (keeps_bytes)
    check(by.decode(first) == text);
  auto half = text.substr(text.size() / 2);
  leat::make_utf8(half, 0);
  const auto of_half = encoded(by, half, kept, true);
  touch(by.decode(of_half));
  if (text.size() % 4 != 0) // what is kept is large: to make it takes most of the time
    return;
  leat::text_tokenizer::scratch fresh;
  check(of_half == encoded(by, half, fresh, true));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0)
    return 0;
  const std::string all{reinterpret_cast<const char*>(data), size};
  choices of{all};
  const auto what = of.below(16);
  try {
    allow(leat::errc::invalid_argument, [&] {
      if (what > 1) {
        const auto made = leat::fuzz::made_tokenizer(of);
        const auto text = leat::fuzz::made_text(of);
        encode(leat::parse_tokenizer_json(made.file, "file").parts, text, made.keeps_bytes);
        return;
      }
      // The last byte says how many bytes before it are the text, or the pattern.
      const std::string given{of.rest()};
      const auto of_text = static_cast<unsigned char>(all.back());
      const auto text_size = std::min<std::size_t>(given.empty() ? 0 : given.size() - 1, of_text);
      const auto file = given.substr(0, given.size() - text_size);
      auto text = given.substr(file.size());
      leat::make_utf8(text, 0);
      if (what == 0)
        encode(leat::parse_tokenizer_json(file, "file").parts, text, false);
      else
        encode(leat::parts_of_ranks(leat::parse_rank_file(file, "file"), text, 0, "file"), text,
               true);
    });
  } catch (const leat::unsupported_tokenizer&) {
  }
  return 0;
}
