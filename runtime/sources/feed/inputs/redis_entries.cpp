#include "runtime/sources/feed/inputs/redis_entries.hpp"

#include <charconv>
#include <limits>

namespace leat {

namespace {

constexpr auto last_redis_number = std::numeric_limits<std::uint64_t>::max();

std::optional<std::uint64_t> redis_number_of(std::string_view text) {
  std::uint64_t x = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), x);
  if (problem != std::errc{} || end != text.data() + text.size())
    return std::nullopt;
  return x;
}

std::optional<redis_entry> redis_entry_of(const redis_reply& x) {
  if (x.items.size() != 2 || !x.items[0].is_bytes() || !x.items[1].is_list()
      || x.items[1].items.size() % 2 != 0)
    return std::nullopt;
  const auto id = parse_redis_entry_id(x.items[0].bytes);
  if (!id)
    return std::nullopt;
  redis_entry entry{.id = *id};
  const auto& fields = x.items[1].items;
  for (std::size_t i = 0; i < fields.size(); i += 2) {
    if (!fields[i].is_bytes() || !fields[i + 1].is_bytes())
      return std::nullopt;
    entry.fields.emplace_back(fields[i].bytes, fields[i + 1].bytes);
  }
  return entry;
}

std::optional<redis_entry_id> redis_id_at(const redis_reply* x) {
  return x && x->is_bytes() ? parse_redis_entry_id(x->bytes) : std::nullopt;
}

std::optional<std::uint64_t> redis_count_at(const redis_reply* x) {
  if (!x || x->is != redis_reply::kind::number || x->number < 0)
    return std::nullopt;
  return static_cast<std::uint64_t>(x->number);
}

} // namespace

std::optional<redis_entry_id> parse_redis_entry_id(std::string_view text) {
  const auto dash = text.find('-');
  if (dash == text.npos)
    return std::nullopt;
  const auto time = redis_number_of(text.substr(0, dash));
  const auto number = redis_number_of(text.substr(dash + 1));
  if (!time || !number)
    return std::nullopt;
  return redis_entry_id{*time, *number};
}

std::string to_string(const redis_entry_id& x) {
  return std::to_string(x.time) + '-' + std::to_string(x.number);
}

redis_entry_id before(redis_entry_id x) noexcept {
  if (x.number > 0)
    return {x.time, x.number - 1};
  return x.time > 0 ? redis_entry_id{x.time - 1, last_redis_number} : x;
}

redis_entry_id after(redis_entry_id x) noexcept {
  if (x.number < last_redis_number)
    return {x.time, x.number + 1};
  return x.time < last_redis_number ? redis_entry_id{x.time + 1, 0} : x;
}

std::optional<std::vector<redis_entry>> redis_entries_of(const redis_reply& x) {
  std::vector<redis_entry> entries;
  if (x.is == redis_reply::kind::nothing)
    return entries;
  if (!x.is_list() || x.items.size() != 1 || x.items[0].items.size() != 2
      || !x.items[0].items[1].is_list())
    return std::nullopt;
  for (const auto& item : x.items[0].items[1].items) {
    auto entry = redis_entry_of(item);
    if (!entry || (!entries.empty() && entry->id <= entries.back().id))
      return std::nullopt;
    entries.push_back(std::move(*entry));
  }
  return entries;
}

std::optional<redis_group> redis_group_of(const redis_reply& x, std::string_view name) {
  for (const auto& item : x.items) {
    const auto* own = item.find("name");
    if (!own || !own->is_bytes() || own->bytes != name)
      continue;
    const auto delivered = redis_id_at(item.find("last-delivered-id"));
    if (!delivered)
      return std::nullopt;
    redis_group group{.delivered = *delivered};
    group.read = redis_count_at(item.find("entries-read"));
    group.lag = redis_count_at(item.find("lag"));
    return group;
  }
  return std::nullopt;
}

std::optional<redis_pending> redis_pending_of(const redis_reply& x) {
  if (x.items.size() != 4 || x.items[0].number < 1)
    return std::nullopt;
  const auto first = redis_id_at(&x.items[1]);
  if (!first)
    return std::nullopt;
  redis_pending found{.first = *first};
  for (const auto& consumer : x.items[3].items)
    if (!consumer.items.empty() && consumer.items[0].is_bytes())
      found.consumers.emplace_back(consumer.items[0].bytes);
  return found;
}

} // namespace leat
