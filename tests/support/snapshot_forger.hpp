#pragma once

#include "runtime/base/xxh3.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace leat::test {

/// Takes a snapshot apart and assembles it again with other numbers and a matching checksum. Knows
/// Protobuf's wire format and the messages of docs/snapshot.md, and uses only the hash of leat's
/// code.
class snapshot_forger {
public:
  /// A whole snapshot, as `batch::snapshot` gives it.
  explicit snapshot_forger(std::string_view bytes)
      : head_(bytes.substr(0, 12)), root_(parse(bytes.substr(head_bytes), shape::snapshot)) {}

  /// The whole snapshot with a valid header and checksum.
  std::string bytes() const {
    const auto message = written(root_);
    auto head = head_;
    append(head, static_cast<std::uint32_t>(message.size()));
    const auto whole = head + message;
    const auto hash = xxh3_128(std::as_bytes(std::span{whole}));
    append(head, hash.low);
    append(head, hash.high);
    return head + message;
  }

  /// Gives one number another value, in whatever message or lane state it is; or removes or repeats
  /// parts, or replaces them by others, perhaps of `other`, a snapshot of the same job.
  void change(std::mt19937_64& random, const snapshot_forger& other) {
    if (random() % 8 != 0) {
      change_number(random);
      return;
    }
    auto parts = messages_of(root_);
    auto copy = other.root_;
    const auto theirs = messages_of(copy);
    if (parts.empty() || theirs.empty())
      return;
    auto& x = *parts[random() % parts.size()];
    switch (random() % 4) {
    case 0:
      x.is_gone = true;
      break;
    case 1:
      x.times = 2;
      break;
    default:
      exchange(x, *theirs[random() % theirs.size()]);
    }
  }

  /// How many numbers there are, including those in lane states.
  std::size_t numbers() {
    std::size_t n = 0;
    for_each_number(root_, [&](node&, std::size_t) { ++n; });
    return n;
  }

  /// Gives number `which` another value.
  void change_number(std::size_t which, std::mt19937_64& random) {
    std::size_t at = 0;
    for_each_number(root_, [&](node& x, std::size_t inside) {
      if (at++ == which)
        change(x, inside, random);
    });
  }

private:
  static constexpr std::size_t head_bytes = 32;

  /// What kind of message or field it is.
  enum class shape : std::uint8_t {
    number,
    fixed64,
    text,
    state,
    snapshot,
    pipeline,
    node,
    op,
    data,
    sums,
    hash,
    bad_count,
    lane,
    mark,
    base,
    record_use,
    input,
    steps,
    field
  };

  struct node {
    shape what = shape::number;
    std::uint32_t field = 0;
    std::uint64_t number = 0;
    std::string text = {};
    std::vector<node> parts = {};
    bool is_gone = false;
    int times = 1;
  };

  static bool is_message(shape x) { return x >= shape::snapshot; }

  struct known_field {
    shape message;
    std::uint32_t field;
    shape what;
  };

  /// What a message may contain. Numbers that are not listed are 0.
  static std::span<const known_field> fields() {
    using s = shape;
    static constexpr known_field all[] = {
        {s::snapshot, 1, s::pipeline}, {s::snapshot, 2, s::number},   {s::snapshot, 3, s::number},
        {s::snapshot, 4, s::number},   {s::snapshot, 5, s::number},   {s::snapshot, 6, s::number},
        {s::snapshot, 7, s::sums},     {s::snapshot, 8, s::number},   {s::snapshot, 16, s::lane},
        {s::snapshot, 17, s::steps},   {s::pipeline, 1, s::node},     {s::pipeline, 2, s::number},
        {s::pipeline, 3, s::number},   {s::node, 1, s::op},           {s::node, 2, s::node},
        {s::op, 1, s::text},           {s::op, 2, s::text},           {s::op, 3, s::data},
        {s::data, 1, s::number},       {s::data, 2, s::number},       {s::data, 3, s::number},
        {s::data, 4, s::hash},         {s::sums, 1, s::hash},         {s::sums, 2, s::hash},
        {s::sums, 3, s::number},       {s::sums, 4, s::bad_count},    {s::sums, 5, s::number},
        {s::hash, 1, s::fixed64},      {s::hash, 2, s::fixed64},      {s::bad_count, 1, s::text},
        {s::bad_count, 2, s::number},  {s::lane, 1, s::number},       {s::lane, 2, s::mark},
        {s::mark, 1, s::number},       {s::mark, 2, s::number},       {s::mark, 3, s::number},
        {s::mark, 4, s::number},       {s::mark, 5, s::base},         {s::base, 1, s::number},
        {s::base, 2, s::state},        {s::base, 3, s::input},        {s::base, 4, s::record_use},
        {s::record_use, 1, s::number}, {s::record_use, 2, s::number}, {s::record_use, 3, s::number},
        {s::input, 1, s::number},      {s::input, 2, s::mark},        {s::lane, 3, s::record_use},
        {s::snapshot, 18, s::field},   {s::field, 1, s::text},        {s::field, 2, s::text},
        {s::field, 3, s::state},       {s::steps, 1, s::number},      {s::steps, 2, s::number}};
    return all;
  }

  // -- reading

  static std::uint64_t take_varint(std::string_view& from) {
    std::uint64_t x = 0;
    for (unsigned shift = 0; !from.empty() && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(from[0]);
      from.remove_prefix(1);
      x |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80)
        return x;
    }
    throw std::invalid_argument("no number");
  }

  /// Anything unknown is a number or a text.
  static shape shape_of(shape message, std::uint32_t field, std::uint64_t wire_type) {
    for (const auto& x : fields())
      if (x.message == message && x.field == field)
        return x.what;
    return wire_type == 0 ? shape::number : wire_type == 1 ? shape::fixed64 : shape::text;
  }

  static node parse(std::string_view from, shape what) {
    node x{.what = what};
    while (!from.empty()) {
      const auto tag = take_varint(from);
      node part{.field = static_cast<std::uint32_t>(tag >> 3)};
      part.what = shape_of(what, part.field, tag & 7);
      if ((tag & 7) == 0) {
        part.number = take_varint(from);
      } else if ((tag & 7) == 1) {
        std::memcpy(&part.number, from.substr(0, 8).data(), 8);
        from.remove_prefix(8);
      } else {
        const auto size = take_varint(from);
        const auto text = from.substr(0, size);
        from.remove_prefix(text.size());
        if (is_message(part.what))
          part.parts = parse(text, part.what).parts;
        else
          part.text = text;
      }
      x.parts.push_back(std::move(part));
    }
    add_zeros(x);
    return x;
  }

  static void add_zeros(node& x) {
    for (const auto& known : fields())
      if (known.message == x.what && known.what == shape::number) {
        if (std::none_of(x.parts.begin(), x.parts.end(),
                         [&](const auto& part) { return part.field == known.field; }))
          x.parts.push_back({.what = known.what, .field = known.field});
      }
  }

  // -- writing

  static std::string varint(std::uint64_t x) {
    std::string bytes;
    for (; x >= 0x80; x >>= 7)
      bytes += static_cast<char>(x | 0x80);
    return bytes + static_cast<char>(x);
  }

  template <class T>
  static void append(std::string& to, T x) {
    to.append(reinterpret_cast<const char*>(&x), sizeof(x));
  }

  static std::string written(const node& message) {
    std::string bytes;
    for (const auto& x : message.parts) {
      if (x.is_gone)
        continue;
      for (int i = 0; i < x.times; ++i)
        bytes += written_field(x);
    }
    return bytes;
  }

  static std::string written_field(const node& x) {
    const auto tag = std::uint64_t{x.field} << 3;
    if (x.what == shape::number)
      return varint(tag) + varint(x.number);
    if (x.what == shape::fixed64) {
      auto bytes = varint(tag | 1);
      append(bytes, x.number);
      return bytes;
    }
    const auto text = is_message(x.what) ? written(x) : x.text;
    return varint(tag | 2) + varint(text.size()) + text;
  }

  // -- changing

  static std::vector<node*> messages_of(node& x) {
    std::vector<node*> all;
    for (auto& part : x.parts)
      if (part.what == shape::state)
        all.push_back(&part);
      else if (is_message(part.what)) {
        all.push_back(&part);
        const auto inner = messages_of(part);
        all.insert(all.end(), inner.begin(), inner.end());
      }
    return all;
  }

  static void exchange(node& x, const node& other) {
    if (x.what != other.what)
      return;
    x.text = other.text;
    auto copy = other.parts; // it may be a part of x
    x.parts = std::move(copy);
  }

  /// Where the numbers of a state begin; including lengths of texts, and what texts contain.
  static std::vector<std::size_t> places_in(std::string_view state) {
    std::vector<std::size_t> places;
    bool inside = false;
    for (std::size_t i = 0; i < state.size(); ++i) {
      if (!inside)
        places.push_back(i);
      inside = static_cast<unsigned char>(state[i]) >= 0x80;
    }
    return places;
  }

  template <class Use>
  static void for_each_number(node& x, Use use, shape but = shape::number) {
    for (auto& part : x.parts) {
      if (part.what == but && is_message(but))
        continue;
      if (part.what == shape::number || part.what == shape::fixed64)
        use(part, 0);
      else if (part.what == shape::state)
        for (const auto place : places_in(part.text))
          use(part, place);
      else if (is_message(part.what))
        for_each_number(part, use, but);
    }
  }

  void change_number(std::mt19937_64& random) {
    // Lane states are the most interesting part, and the description of the pipeline the least,
    // because changes to that are refused.
    std::vector<std::pair<node*, std::size_t>> all;
    const bool lanes_only = random() % 8 != 0;
    for_each_number(
        root_, [&](node& x, std::size_t inside) { all.emplace_back(&x, inside); },
        lanes_only ? shape::pipeline : shape::number);
    if (all.empty())
      return;
    const auto& [x, inside] = all[random() % all.size()];
    change(*x, inside, random);
  }

  static void change(node& x, std::size_t inside, std::mt19937_64& random) {
    if (x.what != shape::state) {
      x.number = other_number(x.number, random);
      return;
    }
    if (inside >= x.text.size())
      return;
    std::string_view rest = std::string_view{x.text}.substr(inside);
    const auto had = rest.size();
    std::uint64_t value = 0;
    try {
      value = take_varint(rest);
    } catch (const std::invalid_argument&) {
    }
    put(x.text, inside, had - rest.size(), varint(other_number(value, random)), random);
  }

  /// Replaces `size` bytes at `at`. The lengths of texts that may contain these grow, too.
  static void put(std::string& state, std::size_t at, std::size_t size, const std::string& bytes,
                  std::mt19937_64& random) {
    const auto more = bytes.size() - size; // modulo 2^64
    if (more != 0)
      for (const auto place : places_in(std::string_view{state}.substr(0, at))) {
        auto& length = state[place];
        const auto end = place + 1 + static_cast<unsigned char>(length);
        const auto grown = static_cast<unsigned char>(length) + more;
        if (static_cast<unsigned char>(length) < 0x80 && end >= at + size && end <= state.size()
            && grown < 0x80 && random() % 4 != 0)
          length = static_cast<char>(grown);
      }
    state.replace(at, size, bytes);
  }

  static std::uint64_t other_number(std::uint64_t x, std::mt19937_64& random) {
    constexpr std::uint64_t one = 1;
    const std::uint64_t special[] = {
        0,         1,         x - 1,     x + 1,           2 * x,      x + 24,
        127,       128,       255,       65536,           0x7fffffff, 0xffffffff,
        one << 32, one << 53, one << 62, (one << 63) - 1, one << 63,  UINT64_MAX - 1,
        UINT64_MAX};
    if (random() % 2 == 0)
      return special[random() % std::size(special)];
    return random() >> (random() % 64);
  }

  /// Magic and version.
  std::string head_;
  node root_;
};

} // namespace leat::test
