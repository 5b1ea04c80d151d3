#include "runtime/pipeline/tokenizer/byte_pairs.hpp"

#include "runtime/pipeline/tokenizer/code_points.hpp"
#include "runtime/pipeline/tokenizer/kept_memory.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace leat {

namespace {

/// As many tokens are looked through for the next pair; a queue costs more.
constexpr std::size_t few = 48;

} // namespace

byte_pairs::byte_pairs(model of) : model_(std::move(of)), whole_(model_.whole) {
  free_all(model_.whole);
  std::size_t places = 2;
  while (places < 2 * model_.merges.size() + 2)
    places *= 2;
  mask_ = places - 1;
  slots_.assign(places, {no_pair, {never, no_token}});
  for (const auto& x : model_.merges)
    put(x);
  if (model_.characters.empty())
    find_pairs_of_bytes();
  free_all(model_.merges);
}

/// Few merges are of two bytes, and most pairs of bytes are none.
void byte_pairs::find_pairs_of_bytes() {
  of_bytes_.assign(num_bytes * num_bytes, {never, no_token});
  std::unordered_multimap<token_id, std::size_t> bytes;
  token_id last = 0;
  for (std::size_t i = 0; i < num_bytes; ++i)
    if (model_.bytes[i] != no_token) {
      bytes.emplace(model_.bytes[i], i);
      last = std::max(last, model_.bytes[i]);
    }
  for (const auto& x : model_.merges) {
    if (x.left > last || x.right > last)
      continue;
    const auto lefts = bytes.equal_range(x.left);
    const auto rights = bytes.equal_range(x.right);
    if (lefts.first == lefts.second || rights.first == rights.second
        || of_bytes_[lefts.first->second * num_bytes + rights.first->second].into != no_token)
      continue; // a pair that came before has its bytes already, which may be all pairs of bytes
    for (auto left = lefts.first; left != lefts.second; ++left)
      for (auto right = rights.first; right != rights.second; ++right)
        of_bytes_[left->second * num_bytes + right->second] = find(x.left, x.right);
  }
}

void byte_pairs::put(const merge& x) {
  const auto pair = std::uint64_t{x.left} << 32 | x.right;
  auto at = place_of(pair);
  while (slots_[at].pair != no_pair && slots_[at].pair != pair)
    at = (at + 1) & mask_;
  slots_[at] = {pair, {x.rank, x.into}};
}

void byte_pairs::encode(std::string_view text, scratch& with, std::vector<token_id>& to) const {
  if (const auto found = whole_.find(text); found != no_token) {
    to.push_back(found);
    return;
  }
  auto& tokens = with.tokens;
  tokens.clear();
  bool is_complete = true;
  if (model_.characters.empty()) {
    for (const auto c : text) {
      const auto token = model_.bytes[static_cast<unsigned char>(c)];
      if (token != no_token)
        tokens.push_back(token);
      else
        is_complete = false;
    }
  } else {
    begin_with_characters(text, with);
  }
  if (tokens.size() < 2) {
    to.insert(to.end(), tokens.begin(), tokens.end());
    return;
  }
  const auto pairs = tokens.size() - 1;
  with.ranks.resize(tokens.size());
  with.merged.resize(tokens.size());
  const bool by_bytes = is_complete && !of_bytes_.empty();
  for (std::size_t i = 0; i < pairs; ++i) {
    const auto found = by_bytes ? of_bytes_[static_cast<unsigned char>(text[i]) * num_bytes
                                            + static_cast<unsigned char>(text[i + 1])]
                                : find(tokens[i], tokens[i + 1]);
    with.ranks[i] = found.rank;
    with.merged[i] = found.into;
  }
  with.ranks[pairs] = never;
  tokens.size() <= few ? merge_few(with, to) : merge_many(with, to);
}

void byte_pairs::begin_with_characters(std::string_view text, scratch& with) const {
  bool was_unknown = false;
  while (!text.empty()) {
    const auto x = decode_character(text.data());
    const auto found = model_.characters.find(x.code_point);
    const bool is_unknown = found == model_.characters.end() && !model_.has_bytes;
    if (found != model_.characters.end())
      with.tokens.push_back(found->second);
    else if (model_.has_bytes)
      for (const auto c : text.substr(0, x.size))
        with.tokens.push_back(model_.bytes[static_cast<unsigned char>(c)]);
    else if (model_.unknown != no_token && !(was_unknown && model_.fuses_unknown))
      with.tokens.push_back(model_.unknown);
    was_unknown = is_unknown;
    text.remove_prefix(x.size);
  }
}

void byte_pairs::merge_few(scratch& with, std::vector<token_id>& to) const {
  auto* tokens = with.tokens.data();
  auto* ranks = with.ranks.data();
  auto* merged = with.merged.data();
  auto n = with.tokens.size();
  for (;;) {
    auto best = never;
    std::size_t at = 0;
    for (std::size_t i = 0; i + 1 < n; ++i)
      if (ranks[i] < best) {
        best = ranks[i];
        at = i;
      }
    if (best == never)
      break;
    tokens[at] = merged[at];
    --n;
    for (auto i = at + 1; i < n; ++i) {
      tokens[i] = tokens[i + 1];
      ranks[i] = ranks[i + 1];
      merged[i] = merged[i + 1];
    }
    const auto set = [&](std::size_t i) {
      const auto found = i + 1 < n ? find(tokens[i], tokens[i + 1]) : found_merge{never, no_token};
      ranks[i] = found.rank;
      merged[i] = found.into;
    };
    set(at);
    if (at > 0)
      set(at - 1);
  }
  to.insert(to.end(), tokens, tokens + n);
}

/// By a queue of pairs, in which those that are no longer neighbours stay until they come up.
void byte_pairs::merge_many(scratch& with, std::vector<token_id>& to) const {
  const auto n = with.tokens.size();
  constexpr std::uint32_t none = never;
  auto& queue = with.queue;
  queue.clear();
  with.before.resize(n);
  with.after.resize(n);
  const auto offer = [&](std::size_t i) {
    if (with.ranks[i] == never)
      return;
    queue.push_back(std::uint64_t{with.ranks[i]} << 32 | i);
    std::push_heap(queue.begin(), queue.end(), std::greater<>{});
  };
  for (std::size_t i = 0; i < n; ++i) {
    with.before[i] = i == 0 ? none : static_cast<std::uint32_t>(i - 1);
    with.after[i] = i + 1 == n ? none : static_cast<std::uint32_t>(i + 1);
    if (with.ranks[i] != never)
      queue.push_back(std::uint64_t{with.ranks[i]} << 32 | i);
  }
  std::make_heap(queue.begin(), queue.end(), std::greater<>{});
  const auto set = [&](std::size_t i) {
    const auto right = with.after[i];
    const auto found =
        right == none ? found_merge{never, no_token} : find(with.tokens[i], with.tokens[right]);
    with.ranks[i] = found.rank;
    with.merged[i] = found.into;
    offer(i);
  };
  while (!queue.empty()) {
    std::pop_heap(queue.begin(), queue.end(), std::greater<>{});
    const auto top = queue.back();
    queue.pop_back();
    const auto at = static_cast<std::uint32_t>(top);
    if (with.tokens[at] == no_token || with.ranks[at] != top >> 32)
      continue; // merged since, or another pair now
    const auto gone = with.after[at];
    with.tokens[at] = with.merged[at];
    with.tokens[gone] = no_token;
    with.ranks[gone] = never;
    with.after[at] = with.after[gone];
    if (with.after[at] != none)
      with.before[with.after[at]] = at;
    set(at);
    if (with.before[at] != none)
      set(with.before[at]);
  }
  for (std::uint32_t i = 0; i != none; i = with.after[i])
    to.push_back(with.tokens[i]);
  free_large(with.tokens, with.ranks, with.merged, with.before, with.after, with.queue);
}

} // namespace leat
