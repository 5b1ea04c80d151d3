#include "runtime/pipeline/tokenizer/text_tokenizer.hpp"

#include "runtime/pipeline/tokenizer/kept_memory.hpp"
#include "runtime/pipeline/tokenizer/unsupported_tokenizer.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace leat {

namespace {

// Each returns the normalized text: `to`, or the text itself where nothing changes.

std::string_view normalize(const replace_step& x, std::string_view text, std::string& to) {
  to.clear();
  const auto* const end = text.data() + text.size();
  for (const auto* at = text.data(); at != end;) {
    const auto size = x.pattern->match(at, end);
    const auto taken = size == 0 ? decode_character(at).size : size;
    size == 0 ? to.append(at, taken) : to.append(x.by);
    at += taken;
  }
  return to;
}

std::string_view normalize(const replace_character_step& x, std::string_view text,
                           std::string& to) {
  const auto found = static_cast<std::size_t>(std::count(text.begin(), text.end(), x.what));
  to.resize(text.size() - found + found * x.by.size());
  auto* at = to.data();
  for (const auto c : text)
    at = c == x.what ? std::copy(x.by.begin(), x.by.end(), at) : (*at = c, at + 1);
  return to;
}

std::string_view normalize(const prepend_step& x, std::string_view text, std::string& to) {
  if (text.empty())
    return text;
  to.assign(x.text);
  to += text;
  return to;
}

std::string_view normalize(const text_form& x, std::string_view text, std::string& to) {
  return x.apply(text, to);
}

std::string_view normalize(const std::shared_ptr<const character_changes>& x, std::string_view text,
                           std::string& to) {
  return x->apply(text, to);
}

std::string_view normalize(const lower_step&, std::string_view text, std::string& to) {
  return with_small_letters(text, to);
}

/// Added tokens of one kind, those that are looked for in normalized texts normalized themselves.
std::vector<added_token> added_of(const tokenizer_parts& of, bool normalized) {
  std::vector<added_token> result;
  std::set<std::string> known;
  for (auto x : of.added) {
    if (x.normalized != normalized)
      continue;
    for (const auto& step : of.normalizers) {
      std::string to;
      if (normalized)
        x.text = std::string{
            std::visit([&](const auto& by) { return normalize(by, x.text, to); }, step)};
    }
    if (x.text.empty() || !known.insert(x.text).second)
      throw unsupported_tokenizer(
          "added tokens that are equal, or empty, when they are normalized");
    result.push_back(std::move(x));
  }
  return result;
}

void replace_spaces(const space_step& x, std::string_view text, bool is_first, std::string& to) {
  using prefix = space_step::prefix;
  const bool has_prefix = text.starts_with(' ') || text.starts_with(x.space);
  if (!has_prefix && (x.where == prefix::always || (x.where == prefix::first && is_first)))
    to += x.space;
  for (const auto c : text)
    c == ' ' ? to.append(x.space) : to.append(1, c);
}

using any_model = std::variant<byte_pairs, word_pieces, likely_pieces>;

any_model model_of(byte_pairs::model x) {
  return byte_pairs{std::move(x)};
}
any_model model_of(const word_pieces::model& x) {
  return word_pieces{x};
}
any_model model_of(likely_pieces::model x) {
  return likely_pieces{std::move(x)};
}

} // namespace

text_tokenizer::text_tokenizer(tokenizer_parts parts)
    : model_(std::visit([](auto& x) { return model_of(std::move(x)); }, parts.model)),
      raw_added_(added_of(parts, false)), normal_added_(added_of(parts, true)),
      normalizers_(std::move(parts.normalizers)), steps_(std::move(parts.steps)),
      before_(std::move(parts.before)), after_(std::move(parts.after)),
      texts_(std::move(parts.texts)) {
  for (const auto& [id, text] : texts_)
    last_ = std::max(last_, id);
}

void text_tokenizer::encode(std::string_view text, const options& how, scratch& with,
                            std::vector<token_id>& to) const {
  if (how.adds_special)
    to.insert(to.end(), before_.begin(), before_.end());
  with.parts.resize(steps_.size());
  std::size_t done = 0;
  for (std::size_t from = 0; !raw_added_.empty();) {
    const auto found = raw_added_.find(text, done, from, how.encodes_special);
    if (!found)
      break;
    if (done < found->begin)
      encode_text(text.substr(done, found->begin - done), how, done == 0, with, to);
    to.push_back(found->token);
    done = found->end;
    from = found->next;
  }
  if (done < text.size())
    encode_text(text.substr(done), how, done == 0, with, to);
  if (how.adds_special)
    to.insert(to.end(), after_.begin(), after_.end());
  free_large(with.normal, with.other);
  for (auto& x : with.parts)
    free_large(x);
}

void text_tokenizer::encode_text(std::string_view text, const options& how, bool is_first,
                                 scratch& with, std::vector<token_id>& to) const {
  const auto normal = normalized(text, with);
  std::size_t done = 0;
  for (std::size_t from = 0; !normal_added_.empty();) {
    const auto found = normal_added_.find(normal, done, from, how.encodes_special);
    if (!found)
      break;
    with.readable = normal.data() + normal.size();
    if (done < found->begin)
      encode_normal(normal.substr(done, found->begin - done), is_first && done == 0, 0, with, to);
    to.push_back(found->token);
    done = found->end;
    from = found->next;
  }
  with.readable = normal.data() + normal.size();
  if (done < normal.size())
    encode_normal(normal.substr(done), is_first && done == 0, 0, with, to);
}

std::string_view text_tokenizer::normalized(std::string_view text, scratch& with) const {
  for (const auto& step : normalizers_) {
    text = std::visit([&](const auto& x) { return normalize(x, text, with.other); }, step);
    if (text.data() != with.other.data())
      continue;
    std::swap(with.normal, with.other);
    text = with.normal;
  }
  return text;
}

// NOLINTNEXTLINE(misc-no-recursion): once per step of the tokenizer
void text_tokenizer::encode_normal(std::string_view text, bool is_first, std::size_t step,
                                   scratch& with, std::vector<token_id>& to) const {
  if (step == steps_.size())
    return encode_part(text, with, to);
  if (const auto* seams = std::get_if<token_seams>(&steps_[step]))
    return seams->run(text, [&](std::string_view part) { encode_part(part, with, to); });
  if (const auto* split = std::get_if<split_step>(&steps_[step])) {
    if (step + 1 == steps_.size())
      return split->run(text, [&](std::string_view part) { encode_part(part, with, to); });
    return split->run(text, [&](std::string_view part) {
      encode_normal(part, is_first && part.data() == text.data(), step + 1, with, to);
    });
  }
  auto& other = with.parts[step];
  other.clear();
  replace_spaces(std::get<space_step>(steps_[step]), text, is_first, other);
  const auto* const before = std::exchange(with.readable, other.data() + other.size());
  encode_normal(other, is_first, step + 1, with, to);
  with.readable = before;
}

void text_tokenizer::encode_part(std::string_view part, scratch& with,
                                 std::vector<token_id>& to) const {
  const auto key = token_cache::key_of(part, with.readable);
  if (with.cache.find(key, part, to))
    return;
  const auto had = to.size();
  if (const auto* pairs = std::get_if<byte_pairs>(&model_))
    pairs->encode(part, with.pairs, to);
  else if (const auto* words = std::get_if<word_pieces>(&model_))
    words->encode(part, to);
  else
    std::get<likely_pieces>(model_).encode(part, with.cuts, to);
  with.cache.put(key, part, std::span{to}.subspan(had));
}

std::string text_tokenizer::decode(std::span<const token_id> tokens) const {
  std::string text;
  for (const auto x : tokens)
    if (const auto found = texts_.find(x); found != texts_.end())
      text += found->second;
  return text;
}

} // namespace leat
